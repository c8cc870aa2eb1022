import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus } from "node:os";

/** A command, and the steps that run after it has passed. */
export type Step = {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly next?: readonly Step[];
};

export type StepResult = {
  readonly name: string;
  readonly passed: boolean;
  readonly output: string;
  readonly seconds: number;
  /** Processor time of the process and its children; absent on systems other than Linux. */
  readonly processorSeconds?: number | undefined;
};

export type StepOptions = {
  /** Steps that run at one time: always the least, and up to the most while a core is idle. */
  readonly atOnce: { readonly least: number; readonly most: number };
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
  /** A step that takes longer has failed. */
  readonly timeoutMs: number;
  ended?(step: Step): void;
};

/** From the end of a process to the end of its output at most. */
const OUTPUT_MS = 2_000;
/** From one look at the cores to the next, and the idle share of them from which one more step is started. */
const LOOK_MS = 500;
const IDLE = 0.05;

const running = new Set<ChildProcess>();

/**
 * Runs steps in their order, several at a time. Tests wait more than they compute, so one more step starts whenever the
 * cores are idle. A step's output is printed when it ends.
 */
export async function runSteps(steps: readonly Step[], options: StepOptions): Promise<StepResult[]> {
  const waiting = [...steps];
  const results: StepResult[] = [];
  const idleShare = watchCores();
  const { least, most } = options.atOnce;
  let busy = 0;
  await new Promise<void>((resolve, reject) => {
    const startOne = (): void => {
      const step = waiting.shift();
      if (step === undefined) return;
      busy += 1;
      runStep(step, options).then((result) => {
        busy -= 1;
        results.push(result);
        report(result);
        options.ended?.(step);
        if (result.passed) waiting.unshift(...(step.next ?? []));
        else for (const { name } of step.next ?? []) results.push(skipped(name, step.name));
        fill();
      }, reject);
    };
    const fill = (): void => {
      while (busy < least && waiting.length > 0) startOne();
      if (waiting.length > 0 || busy > 0) return;
      clearInterval(looking);
      resolve();
    };
    const looking = setInterval(() => {
      if (idleShare() > IDLE && busy < most) startOne();
    }, LOOK_MS);
    fill();
  });
  return results;
}

/** The share of all cores' time since the last call in which they were idle. */
function watchCores(): () => number {
  const read = () => {
    const all = cpus().map(({ times }) => times);
    const sum = (of: (times: (typeof all)[number]) => number): number => all.reduce((total, one) => total + of(one), 0);
    return {
      idle: sum(({ idle }) => idle),
      total: sum(({ user, nice, sys, irq, idle }) => user + nice + sys + irq + idle),
    };
  };
  let last = read();
  return () => {
    const now = read();
    const share = (now.idle - last.idle) / (now.total - last.total);
    last = now;
    return share;
  };
}

/** Ends whatever still runs. */
export function stopSteps(): void {
  for (const child of running) killGroup(child, "SIGTERM");
}

/** Ends a step and what it has started. */
function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // All of it has ended.
  }
}

async function runStep({ name, command, args }: Step, options: StepOptions): Promise<StepResult> {
  const from = performance.now();
  let output = "";
  let processorSeconds: number | undefined;
  const code = await new Promise<number>((resolve) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.environment,
      stdio: ["ignore", "pipe", "pipe"],
      // The leader of a process group, so that its children can be ended too.
      detached: true,
    });
    running.add(child);
    const timer = setTimeout(() => {
      output += `\nIt did not end within ${options.timeoutMs / 1000} s.\n`;
      killGroup(child, "SIGKILL");
    }, options.timeoutMs);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.once("error", (error) => {
      output += `${error.message}\n`;
    });
    child.once("exit", () => {
      clearTimeout(timer);
      processorSeconds = sinceLastExit();
      // A process that it left behind can hold its output open.
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, OUTPUT_MS).unref();
    });
    child.once("close", (exitCode) => {
      running.delete(child);
      resolve(exitCode ?? 1);
    });
  });
  return { name, passed: code === 0, output, seconds: (performance.now() - from) / 1000, processorSeconds };
}

/** Processor time of all ended children and their children; absent on systems other than Linux. */
export function allProcessorSeconds(): number | undefined {
  if (process.platform !== "linux") return undefined;
  // Fields 16 and 17, in hundredths of a second. Field 2 may contain spaces.
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

let known = 0;

/** Processor time of the child that has just ended, and of its children. */
export function sinceLastExit(): number | undefined {
  const [before, now] = [known, allProcessorSeconds()];
  known = now ?? before;
  return now === undefined ? undefined : now - before;
}

/** Time that passed and, where it is known, processor time. */
export function timeText(seconds: number, processorSeconds: number | undefined): string {
  const processor = processorSeconds === undefined ? "" : ` (${Math.round(processorSeconds)} s of processor time)`;
  return `${Math.round(seconds)} s${processor}`;
}

function skipped(name: string, cause: string): StepResult {
  return { name, passed: false, output: `Not run, because this failed: ${cause}\n`, seconds: 0 };
}

function report({ name, passed, output, seconds, processorSeconds }: StepResult): void {
  const time = timeText(seconds, processorSeconds);
  process.stdout.write(`${output}--- ${name}: ${passed ? "passed" : "FAILED"} in ${time}\n`);
}
