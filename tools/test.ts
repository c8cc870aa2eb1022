import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, watch } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import {
  allProcessorSeconds,
  runSteps,
  type Step,
  type StepResult,
  sinceLastExit,
  stopSteps,
  timeText,
} from "./run-steps.ts";
import { DEEP, findTestFiles, planTests, root, type TestFile, type TestProcess } from "./test-plan.ts";

/**
 * `npm test`: types, format and lint, the contracts' tests, and every `*.test.ts`, several processes at a time. Failures
 * are repeated at the end, before one line of counts. Arguments that are no flags select test files: `.` or `./folder`
 * those below a folder, anything else those with it in their path.
 */
const usage = `npm test -- [part of a path, ./folder]...
  --name=PATTERN  run the tests whose names match
  --watch         run the selected files again when they or their imports change
  --inspect       wait for a debugger, then run the selected files in one process
  --serial        run one process at a time
  --deep          run with larger numbers and a new seed (npm run test:deep)
  --part=N/M      run the Nth of M parts
  --budgets       run the measurements with limits, *.budget.ts, one at a time (npm run bench:budgets)`;

const { values: flags, positionals: wanted } = readArguments();
const deep = flags.deep === true;
const [part = 1, parts = 1] = (flags.part ?? "1/1").split("/").map(Number);
/** Beside other work, and while a core is idle. */
const STEPS_PER_CORE = { least: 2, most: 6 };
/** The last lines of a failed step without a list of failed tests, repeated at the end. */
const LAST_LINES = 100;
const seed = process.env.FUZZ_SEED ?? (deep ? String(randomInt(1, 2 ** 31)) : "1");
const cache = join(root, "node_modules", ".cache");
const compileCache = join(cache, "compile");
/** The packages whose tests share a devnet. */
const usesDevnet = ({ name }: Step): boolean => /^(test\/devnet|sdk|cli|dashboard)\b/.test(name);
/** Where the tests that need a devnet say so, and find it. */
const devnetFolder = mkdtempSync(join(tmpdir(), "devnet-"));
const environment = {
  ...process.env,
  TEST_DEVNET: devnetFolder,
  NODE_NO_WARNINGS: "1",
  // The collector of the type checker takes a third of its processor time, and saves 300 MB.
  GOGC: process.env.GOGC ?? "400",
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? compileCache,
  FUZZ_SEED: seed,
  ...(deep ? { DEEP: "1", FOUNDRY_PROFILE: "deep", FOUNDRY_FUZZ_SEED: `0x${Number(seed).toString(16)}` } : {}),
};
const nodeFlags = [
  `--import=${join(root, "protocol", "src", "testing", "seed.ts")}`,
  // Node runs no hook of a file without a matching test: what it started would keep the process alive.
  ...(flags.name === undefined ? [] : [`--test-name-pattern=${flags.name}`, "--test-force-exit"]),
];

const RUN_FILES = join("tools", "run-files.ts");
/** The longest time of a process. A file has half of it. */
const timeoutMs = deep ? 4 * 3_600_000 : 1_800_000;

const startedAt = performance.now();
mkdirSync(compileCache, { recursive: true });
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const found = findTestFiles(flags.budgets === true ? ".budget.ts" : ".test.ts").filter(
  ({ path }) => deep || !path.endsWith(DEEP),
);
const files = found.filter((file) => wanted.length === 0 || wanted.some((part) => isSelected(file, part)));
const stopDevnet = keepDevnet();
try {
  if (flags.watch === true || flags.inspect === true) await attend();
  else await runAll();
} finally {
  await stopDevnet();
}

async function runAll(): Promise<void> {
  for (const signal of signals) {
    process.once(signal, () => {
      stopSteps();
      process.exit(1);
    });
  }
  console.log(`FUZZ_SEED=${seed}`);
  const all = steps();
  let devnetUsers = all.filter(usesDevnet).length;
  reportAll(
    await runSteps(all, {
      cwd: root,
      environment,
      timeoutMs,
      // A devnet that nobody needs takes a tenth of a core.
      ended(step) {
        if (usesDevnet(step)) devnetUsers -= 1;
        if (devnetUsers === 0) void stopDevnet();
      },
      atOnce: flags.serial === true || flags.budgets === true ? { least: 1, most: 1 } : atOnce(),
    }),
  );
}

function atOnce(): { least: number; most: number } {
  const cores = availableParallelism();
  return { least: cores * STEPS_PER_CORE.least, most: cores * STEPS_PER_CORE.most };
}

/** Starts the devnet when a test first wants it. Answers what stops it. */
function keepDevnet(): () => Promise<void> {
  let child: ChildProcess | undefined;
  let stopping: Promise<void> | undefined;
  const watcher = watch(devnetFolder, () => {
    if (child !== undefined || !existsSync(join(devnetFolder, "wanted"))) return;
    const script = join(root, "test", "devnet", "src", "testing", "run-devnet.ts");
    child = spawn(process.execPath, [script], { env: environment, stdio: ["pipe", "inherit", "inherit"] });
  });
  // A devnet that outlives the runner removes its folder itself.
  process.once("exit", () => {
    if (child === undefined || child.exitCode !== null) rmSync(devnetFolder, { recursive: true, force: true });
  });
  const stop = async (): Promise<void> => {
    watcher.close();
    if (child === undefined || child.exitCode !== null) return;
    const exited = once(child, "exit");
    child.stdin?.end();
    await exited;
    console.log(`--- the shared devnet: ended (${Math.round(sinceLastExit() ?? 0)} s of processor time)`);
  };
  return () => {
    stopping ??= stop();
    return stopping;
  };
}

/** Runs the selected files at the terminal until its user ends them. */
async function attend(): Promise<void> {
  const how = flags.watch === true ? ["--test", "--watch"] : ["--inspect-brk", RUN_FILES];
  const args = [...nodeFlags, ...how, ...files.map(({ path }) => path)];
  const child = spawn(process.execPath, args, { cwd: root, env: environment, stdio: "inherit" });
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  const [code] = (await once(child, "exit")) as [number | null];
  process.exitCode = code ?? 1;
}

/** The longest first, dealt out to the parts in turn. */
function steps(): Step[] {
  const plan = planTests(files, { deep });
  const forgeReaders = plan.afterForge.map(testStep);
  const solidity = npmScript("contracts", "test:solidity", forgeReaders);
  const isPartial = flags.name !== undefined || flags.budgets === true;
  const withForge = !isPartial && (wanted.length === 0 || wanted.some((part) => folderOf(part) === "contracts"));
  const all = [
    ...(withForge ? [solidity] : forgeReaders),
    ...plan.together.map(testStep),
    ...(wanted.length === 0 && !isPartial ? checks() : []),
  ];
  return all.filter((_, index) => index % parts === part - 1);
}

function checks(): Step[] {
  return [
    { name: "format and lint", command: "biome", args: ["check", "."] },
    npmScript("contracts: format and lint", "lint"),
  ];
}

function npmScript(name: string, script: string, next: readonly Step[] = []): Step {
  return { name, command: "npm", args: ["--prefix", "contracts", "run", script, "--silent"], next };
}

function testStep({ name, files, shared }: TestProcess): Step {
  const hooks = shared === undefined ? [] : [`--import=${join(root, shared)}`];
  const args = [...nodeFlags, ...hooks, `--test-timeout=${timeoutMs / 2}`, "--test-reporter=spec", RUN_FILES, ...files];
  return { name, command: process.execPath, args };
}

function isSelected({ path }: TestFile, part: string): boolean {
  const folder = folderOf(part);
  return folder === undefined ? path.includes(part) : folder === "" || path.startsWith(`${folder}/`);
}

/** The folder that `.` or `./folder` names, relative to the root. */
function folderOf(part: string): string | undefined {
  return part === "." || part.startsWith("./") ? relative(root, resolve(part)) : undefined;
}

function readArguments() {
  try {
    const parsed = parseArgs({
      allowPositionals: true,
      options: {
        name: { type: "string" },
        watch: { type: "boolean" },
        inspect: { type: "boolean" },
        serial: { type: "boolean" },
        deep: { type: "boolean" },
        part: { type: "string" },
        budgets: { type: "boolean" },
      },
    });
    const [, number, of] = /^(\d+)\/(\d+)$/.exec(parsed.values.part ?? "1/1") ?? [];
    if (!(Number(number) >= 1 && Number(number) <= Number(of))) throw new Error("--part is not N/M with N at most M.");
    return parsed;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`);
    process.exit(2);
  }
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
  const tests = `${count("tests")} tests (${count("skipped")} skipped)`;
  const time = timeText((performance.now() - startedAt) / 1000, allProcessorSeconds());
  if (failed.length === 0) console.log(`All of ${tests} passed in ${time}.`);
  else console.log(`${count("fail")} of ${tests} and ${failed.length} steps FAILED in ${time}.`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

/** A figure of the summary that Node's reporter prints. */
function countIn(output: string, what: string): number {
  return Number(new RegExp(`^ℹ ${what} (\\d+)$`, "m").exec(output)?.[1] ?? 0);
}
