import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { unseenSuites } from "./test-solidity.ts";

test("a suite counts as seen if forge ran at least one test of it", () => {
  const output =
    "Ran 1 test for test/One.t.sol:OneTest\nRan 20 tests for test/a/Two.t.sol:TwoTest\nRan 0 tests for test/No.t.sol:No";
  deepEqual(unseenSuites(output, ["test/One.t.sol", "test/a/Two.t.sol", "test/No.t.sol", "test/Absent.t.sol"]), [
    "test/No.t.sol",
    "test/Absent.t.sol",
  ]);
});
