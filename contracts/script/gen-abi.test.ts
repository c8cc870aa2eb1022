import { deepEqual, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { buildContracts, generatedFiles, writtenFiles } from "./gen-abi.ts";

before(() => ok(buildContracts() === 0));

test("the committed ABIs and bytecodes are those of a fresh build (else: npm run build)", () => {
  const expected = generatedFiles();
  const actual = writtenFiles();
  deepEqual([...actual.keys()].sort(), [...expected.keys()].sort());
  const stale = [...expected].filter(([file, content]) => actual.get(file) !== content).map(([file]) => file);
  deepEqual(stale, []);
});

test("bytecode names no machine: it contains no path and no metadata", () => {
  for (const [file, content] of generatedFiles()) {
    const bytecode = /bytecode: "0x([0-9a-f]*)"/.exec(content)?.[1];
    if (bytecode === undefined) continue;
    const text = Buffer.from(bytecode, "hex").toString("latin1");
    ok(!text.includes("ipfs") && !text.includes("node_modules") && !text.includes("solc"), file);
  }
});
