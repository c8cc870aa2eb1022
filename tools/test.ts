import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative, resolve } from "node:path";
import { runSteps, type Step, type StepResult, stopSteps } from "./run-steps.ts";
import { findTestFiles, planTests, root, type TestFile, type TestProcess } from "./test-plan.ts";

/**
 * `npm test`: types, format and lint, the contracts' tests, and every `*.test.ts`, several processes at a time; then,
 * one at a time, the tests that measure time. `--deep` runs the same tests with larger numbers, `--serial` one process
 * at a time. Arguments that are no flags select test files: `.` or `./folder` those below a folder, anything else those
 * with it in their path. What failed beside others runs once more alone. Failures are repeated at the end, before one
 * line of counts.
 */
const args = process.argv.slice(2);
const deep = args.includes("--deep");
const serial = args.includes("--serial");
const wanted = args.filter((argument) => !argument.startsWith("--"));
const unknown = args.find((argument) => argument.startsWith("--") && !/^--(deep|serial)$/.test(argument));
if (unknown !== undefined) {
  console.error(`There is no flag ${unknown}: only --deep and --serial. Other arguments choose test files.`);
  process.exit(2);
}
const seed = { FOUNDRY_FUZZ_SEED: process.env.FOUNDRY_FUZZ_SEED ?? `0x${randomBytes(8).toString("hex")}` };
/** Tests wait more than they compute: with fewer processes the cores stand idle. */
const PROCESSES_PER_CORE = 2.5;
/** If more fail, something is broken. */
const MOST_RUN_AGAIN = 5;
/** Of a failed step that is no test file, repeated at the end. */
const LAST_LINES = 100;
const compileCache = join(root, "node_modules", ".cache", "compile");
const options = {
  cwd: root,
  environment: {
    ...process.env,
    NODE_NO_WARNINGS: "1",
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? compileCache,
    ...(deep ? { DEEP: "1", FOUNDRY_PROFILE: "deep", ...seed } : {}),
  },
  timeoutMs: deep ? 4 * 3_600_000 : 1_800_000,
};

const startedAt = performance.now();
mkdirSync(compileCache, { recursive: true });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    stopSteps();
    process.exit(1);
  });
}

const files = findTestFiles().filter((file) => wanted.length === 0 || wanted.some((part) => isSelected(file, part)));
const plan = planTests(files);
const withForge = wanted.length === 0 || wanted.some((part) => folderOf(part) === "contracts");
if (deep && withForge) console.log(`The contracts' seed: FOUNDRY_FUZZ_SEED=${seed.FOUNDRY_FUZZ_SEED}`);
const atOnce = serial ? 1 : Math.round(availableParallelism() * PROCESSES_PER_CORE);
const together = await runSteps(steps(), { ...options, atOnce });
const alone = await runSteps(plan.alone.map(testStep), { ...options, atOnce: 1 });
const again = await runAgain([...together, ...alone]);
reportAll([...[...together, ...alone].filter(({ name }) => !again.some((other) => other.name === name)), ...again]);

function steps(): Step[] {
  const forgeReaders = plan.afterForge.map(testStep);
  const solidity = npmScript("contracts", "test:solidity", forgeReaders);
  return [
    ...(withForge ? [solidity] : forgeReaders),
    ...plan.together.map(testStep),
    ...(wanted.length === 0 ? checks() : []),
  ];
}

/**
 * Runs once more, one at a time, the few test processes that failed beside others or measure time: a machine that is
 * too slow for a moment says nothing about the code. What passes only then is named, to be mended.
 */
async function runAgain(results: readonly StepResult[]): Promise<StepResult[]> {
  const processes = [...plan.together, ...plan.alone];
  const failed = processes.filter(({ name }) => results.some((result) => result.name === name && !result.passed));
  if (serial || failed.length > MOST_RUN_AGAIN) return [];
  const again = await runSteps(failed.map(testStep), { ...options, atOnce: 1 });
  for (const { name } of again.filter(({ passed }) => passed)) {
    console.log(`UNSTABLE: ${name} failed at first, and passed when it ran once more alone.`);
  }
  return again;
}

function checks(): Step[] {
  return [
    { name: "types", command: "tsc", args: ["-p", "."] },
    { name: "format and lint", command: "biome", args: ["check", "."] },
    npmScript("contracts: format and lint", "lint"),
  ];
}

function npmScript(name: string, script: string, next: readonly Step[] = []): Step {
  return { name, command: "npm", args: ["--prefix", "contracts", "run", script, "--silent"], next };
}

function testStep({ name, files }: TestProcess): Step {
  const isolation = ["--test", "--test-isolation=none", `--test-timeout=${deep ? 3_600_000 : 600_000}`];
  return { name, command: process.execPath, args: [...isolation, "--test-reporter=spec", ...files] };
}

function isSelected({ path }: TestFile, part: string): boolean {
  const folder = folderOf(part);
  return folder === undefined ? path.includes(part) : folder === "" || path.startsWith(`${folder}/`);
}

/** What `.` or `./folder` names, relative to the root. */
function folderOf(part: string): string | undefined {
  return part === "." || part.startsWith("./") ? relative(root, resolve(part)) : undefined;
}

function reportAll(all: readonly StepResult[]): void {
  const failed = all.filter(({ passed }) => !passed);
  for (const { name, output } of failed) {
    const from = output.search(/^✖ failing tests:/m);
    console.log(
      `\n=== FAILED: ${name}\n${from === -1 ? output.split("\n").slice(-LAST_LINES).join("\n") : output.slice(from)}`,
    );
  }
  const slowest = all.toSorted((one, other) => other.seconds - one.seconds).slice(0, 10);
  console.log(`Slowest: ${slowest.map(({ name, seconds }) => `${name} ${Math.round(seconds)} s`).join(", ")}`);
  const count = (what: string): number => all.reduce((total, { output }) => total + countIn(output, what), 0);
  const tests = `${count("tests")} tests in ${files.length} files (${count("skipped")} skipped)`;
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  if (failed.length === 0) console.log(`All of ${tests} passed in ${seconds} s.`);
  else console.log(`${count("fail")} of ${tests} and ${failed.length} steps FAILED in ${seconds} s.`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

/** What node's reporter says at the end of an output. */
function countIn(output: string, what: string): number {
  return Number(new RegExp(`^ℹ ${what} (\\d+)$`, "m").exec(output)?.[1] ?? 0);
}
