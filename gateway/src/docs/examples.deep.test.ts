import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** The hosts' tests run the examples. Their types are checked here, against the packages that they import. */
test("the programs of docs/examples have right types", async () => {
  const folder = fileURLToPath(new URL("../../../docs/examples", import.meta.url));
  const tsc = fileURLToPath(new URL("../../../node_modules/.bin/tsc", import.meta.url));
  await promisify(execFile)(tsc, ["-p", folder, "--checkers", "1"]);
});
