import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type Mutant, readMutants } from "./read-mutants.ts";
import { root } from "./test-plan.ts";

/**
 * `npm run test:mutants [-- NUMBER...]`: applies each mutant of docs/testing.md to its file, runs the tests that are to
 * fail, and puts the file back, also when a signal ends it. Fails if a mutant survives.
 */
const mutants = readMutants();
const wanted = process.argv.slice(2);
const chosen = mutants.filter(({ number }) => wanted.length === 0 || wanted.includes(number));

/** A signal must leave neither a file with a mutant nor running tests. */
let restore = (): void => {};
let running: ChildProcess | undefined;
process.once("exit", () => {
  restore();
  running?.kill();
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));

// Tests that fail without a mutant would seem to kill every one.
for (const tests of new Set(chosen.map((mutant) => mutant.tests))) {
  if (await runTests(tests)) continue;
  console.error(`Tests fail without a mutant: ${tests}. Mend them first.`);
  process.exit(1);
}
for (const mutant of chosen) {
  const survives = await survivesTests(mutant);
  if (survives) process.exitCode = 1;
  console.log(`${mutant.number}: ${survives ? "SURVIVES" : "killed"}: ${mutant.file}: ${mutant.to}`);
}

async function survivesTests({ file, from, to, tests }: Mutant): Promise<boolean> {
  const path = join(root, file);
  const source = readFileSync(path, "utf8");
  restore = () => writeFileSync(path, source);
  try {
    const mutated = source.replace(from, () => to);
    writeFileSync(path, mutated);
    return await runTests(tests);
  } finally {
    restore();
    restore = () => {};
  }
}

/** Whether tests pass: a Solidity suite by its file, others by parts of their paths. */
async function runTests(tests: string): Promise<boolean> {
  const isSolidity = tests.endsWith(".t.sol");
  const args = isSolidity
    ? ["contracts/script/forge.ts", "test", "--fail-fast", "--match-path", `test/${tests}`]
    : ["tools/test.ts", ...tests.split(" ")];
  const env = { ...process.env, FOUNDRY_PROFILE: "fast" };
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", "pipe", "ignore"] });
  running = child;
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  const passed = code === 0;
  // A mutant that does not compile is not killed.
  if (isSolidity && !passed && !output.includes("Failing tests:")) throw new Error(`forge ran no test: ${output}`);
  return passed;
}
