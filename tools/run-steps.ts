import { type ChildProcess, spawn } from "node:child_process";

/** A command, and what runs once it has passed. */
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
};

export type StepOptions = {
  readonly atOnce: number;
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
  /** A step that takes longer has failed. */
  readonly timeoutMs: number;
};

/** From the end of a process to the end of its output at most. */
const OUTPUT_MS = 2_000;

const running = new Set<ChildProcess>();

/** Runs steps in their order, several at a time. The output of each is printed in one piece when it ends. */
export async function runSteps(steps: readonly Step[], options: StepOptions): Promise<StepResult[]> {
  const waiting = [...steps];
  const results: StepResult[] = [];
  let busy = 0;
  await new Promise<void>((resolve, reject) => {
    const startNext = (): void => {
      if (waiting.length === 0 && busy === 0) resolve();
      while (busy < options.atOnce) {
        const step = waiting.shift();
        if (step === undefined) return;
        busy += 1;
        runStep(step, options).then((result) => {
          busy -= 1;
          results.push(result);
          report(result);
          if (result.passed) waiting.unshift(...(step.next ?? []));
          else for (const { name } of step.next ?? []) results.push(skipped(name, step.name));
          startNext();
        }, reject);
      }
    };
    startNext();
  });
  return results;
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
  const code = await new Promise<number>((resolve) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.environment,
      stdio: ["ignore", "pipe", "pipe"],
      // The leader of a group, by which all that it starts can be ended.
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
  return { name, passed: code === 0, output, seconds: (performance.now() - from) / 1000 };
}

function skipped(name: string, cause: string): StepResult {
  return { name, passed: false, output: `Not run, because this failed: ${cause}\n`, seconds: 0 };
}

function report({ name, passed, output, seconds }: StepResult): void {
  process.stdout.write(`${output}--- ${name}: ${passed ? "passed" : "FAILED"} in ${Math.round(seconds)} s\n`);
}
