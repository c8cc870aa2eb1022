import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./test-plan.ts";

/**
 * `npm run test:mutants [-- NUMBER...]`: applies each mutant of docs/testing.md to its file, runs the tests that are to
 * fail, and puts the file back. Fails if a mutant survives, or if its line is not in the file once.
 */
type Mutant = { number: string; file: string; from: string; to: string; tests: string };

const page = readFileSync(join(root, "docs", "testing.md"), "utf8");
const rows = page.matchAll(/^\| (\d+) \| `(.+?)` \| `(.+?)` \| `(.+?)` \| `(.+?)` \|$/gm);
const mutants = [...rows].map(([, number = "", file = "", from = "", to = "", tests = ""]): Mutant => {
  return { number, file, from, to, tests };
});
const wanted = process.argv.slice(2);
const chosen = mutants.filter(({ number }) => wanted.length === 0 || wanted.includes(number));

// Tests that fail without a mutant would seem to kill every one.
for (const tests of new Set(chosen.map((mutant) => mutant.tests))) {
  if (runTests(tests)) continue;
  console.error(`Tests fail without a mutant: ${tests}. Mend them first.`);
  process.exit(1);
}
for (const mutant of chosen) {
  const result = tryMutant(mutant);
  if (result !== "killed") process.exitCode = 1;
  console.log(`${mutant.number}: ${result}: ${mutant.file}: ${mutant.to}`);
}

function tryMutant({ file, from, to, tests }: Mutant): "killed" | "SURVIVES" | "STALE" {
  const path = join(root, file);
  const source = readFileSync(path, "utf8");
  if (source.split(from).length !== 2) return "STALE";
  // A signal must not leave the mutant behind.
  const restore = (): void => writeFileSync(path, source);
  const stop = (): void => {
    restore();
    process.exit(1);
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    writeFileSync(
      path,
      source.replace(from, () => to),
    );
    return runTests(tests) ? "SURVIVES" : "killed";
  } finally {
    restore();
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
}

/** A Solidity suite by its file, other tests by parts of their paths. */
function runTests(tests: string): boolean {
  const isSolidity = tests.endsWith(".t.sol");
  const command = isSolidity
    ? ["contracts/script/forge.ts", "test", "--fail-fast", "--match-path", `test/${tests}`]
    : ["tools/test.ts", ...tests.split(" ")];
  const env = { ...process.env, FOUNDRY_PROFILE: "fast" };
  const stdio = ["ignore", isSolidity ? "pipe" : "ignore", "ignore"] as const;
  const { status, stdout } = spawnSync(process.execPath, command, { cwd: root, env, stdio: [...stdio] });
  // A mutant that does not compile is not killed.
  if (isSolidity && status !== 0 && !stdout.includes("Failing tests:")) throw new Error(`forge ran no test: ${stdout}`);
  return status === 0;
}
