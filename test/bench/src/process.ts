import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A process of this benchmark. */
export interface Started {
  readonly pid: number;
  readonly child: ChildProcess;
  stop(): Promise<void>;
}

const running = new Set<ChildProcess>();

// An interrupted benchmark ends its processes.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    for (const child of running) child.kill("SIGKILL");
    process.exit(130);
  });
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Leaves standard input open. */
  readonly openStdin?: boolean;
  /** Whether messages are exchanged with it. */
  readonly ipc?: boolean;
}

/** Enough to say why a process failed. */
const shownErrorBytes = 4_096;

/** Starts a program. The beginning of its standard error is shown, and standard output is the caller's. */
export async function start(command: string, args: readonly string[], options: StartOptions = {}): Promise<Started> {
  const child = spawn(command, args, {
    stdio: ["pipe", "pipe", "pipe", ...(options.ipc === true ? (["ipc"] as const) : [])],
    env: { ...process.env, ...options.env },
  });
  running.add(child);
  let shown = 0;
  child.stderr?.on("data", (bytes: Buffer) => {
    if (shown < shownErrorBytes) process.stderr.write(bytes);
    shown += bytes.length;
  });
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => {
      running.delete(child);
      resolve();
    });
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) => {
      running.delete(child);
      reject(error);
    });
  });
  if (child.pid === undefined) throw new Error(`${command} has no process id`);
  if (options.openStdin !== true) child.stdin?.end();
  return {
    pid: child.pid,
    child,
    async stop() {
      child.stdout?.destroy();
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGTERM");
      const patience = setTimeout(() => child.kill("SIGKILL"), 5_000);
      await exited;
      clearTimeout(patience);
    },
  };
}

/** Starts one of this folder's own processes, under the Node that runs this one. */
export function startScript(file: string, args: readonly string[], options: StartOptions = {}): Promise<Started> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  return start(process.execPath, [path, ...args], options);
}

/** Reads the next line of standard output. Unread lines are kept, so that the process never blocks on a pipe. */
export function lineReader(started: Started): () => Promise<string> {
  const { stdout } = started.child;
  if (stdout === null) throw new Error("standard output is not piped");
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  return async () => {
    const next = await lines.next();
    if (next.done === true) throw new Error("the process ended before it said what it was asked for");
    return next.value;
  };
}

export function firstLine(started: Started): Promise<string> {
  return lineReader(started)();
}

/** Waits until the address answers HTTP with any status, or the process is gone, or half a minute has passed. */
export async function answering(url: string, started: Started): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (Date.now() < deadline) {
    if (started.child.exitCode !== null) throw new Error(`the server at ${url} exited with ${started.child.exitCode}`);
    const answered = await fetch(url).then(
      (response) => response.arrayBuffer().then(() => true),
      () => false,
    );
    if (answered) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nothing answers at ${url}`);
}
