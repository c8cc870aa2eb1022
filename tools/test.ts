import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * `npm test`: types, format and lint, the contracts, then every `*.test.ts`. `--deep` runs the same tests with larger
 * numbers, `--serial` one file at a time. Arguments that are no flags select test files by a part of their
 * path. Ends with one line of counts.
 */
const root = fileURLToPath(new URL("..", import.meta.url));
const args = process.argv.slice(2);
const deep = args.includes("--deep");
const wanted = args.filter((argument) => !argument.startsWith("--"));
const seed = { FOUNDRY_FUZZ_SEED: process.env.FOUNDRY_FUZZ_SEED ?? `0x${randomBytes(8).toString("hex")}` };
const environment = {
  ...process.env,
  NODE_NO_WARNINGS: "1",
  ...(deep ? { DEEP: "1", FOUNDRY_PROFILE: "deep", ...seed } : {}),
};

const startedAt = performance.now();
if (wanted.length === 0) {
  await run("types", "tsc", ["-p", "."]);
  await run("format and lint", "biome", ["check", "."]);
  await run("contracts: format and lint", "npm", ["--prefix", "contracts", "run", "lint", "--silent"]);
  if (deep) console.log(`The contracts' seed: FOUNDRY_FUZZ_SEED=${seed.FOUNDRY_FUZZ_SEED}`);
  await run("contracts", "npm", ["--prefix", "contracts", "run", "test:solidity", "--silent"]);
}
const files = testFiles(root).filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)));
await run("tests", process.execPath, [
  "--test",
  "--test-reporter=spec",
  `--test-concurrency=${args.includes("--serial") ? 1 : availableParallelism()}`,
  `--test-timeout=${deep ? 3_600_000 : 600_000}`,
  ...files,
]);
console.log(`All of ${files.length} test files passed in ${Math.round((performance.now() - startedAt) / 1000)} s.`);

async function run(name: string, command: string, commandArgs: string[]): Promise<void> {
  const from = performance.now();
  const code = await new Promise<number>((resolve, reject) => {
    const child = spawn(command, commandArgs, { cwd: root, stdio: "inherit", env: environment });
    child.on("error", reject);
    child.on("exit", (exitCode) => resolve(exitCode ?? 1));
  });
  const seconds = Math.round((performance.now() - from) / 1000);
  console.log(`--- ${name}: ${code === 0 ? "passed" : "FAILED"} in ${seconds} s`);
  if (code !== 0) process.exit(1);
}

function testFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return /^(node_modules|\..*|out|cache)$/.test(entry.name) ? [] : testFiles(path);
      return entry.name.endsWith(".test.ts") ? [relative(root, path)] : [];
    })
    .sort();
}
