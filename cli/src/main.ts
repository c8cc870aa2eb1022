import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import type { WriteStream } from "node:tty";
import { commands } from "./commands/all.ts";
import type { Screen } from "./context.ts";
import { UsageError } from "./errors.ts";
import { hasPending } from "./pending.ts";
import { asCalled, run } from "./run.ts";
import { openStateFolder } from "./state-folder.ts";
import { markPastes, typedLines } from "./typed-lines.ts";

/** The program `infer`. The next run finishes transactions that a signal interrupted. */
const folder = openStateFolder(process.env);
/** Earlier answers, the latest first. */
let history: string[] = [];
const lines = typedLines(process.stdin);
/** The work that Ctrl-C stops instead of the process. */
let stopping: AbortController | undefined;
/** The clone's runner sends each Ctrl-C a second time. */
const SAME_SIGNAL_MS = 500;
let stoppedAt = Number.NEGATIVE_INFINITY;

for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const) {
  process.on(signal, () => {
    if (signal === "SIGINT" && stopping !== undefined) {
      stopping.abort();
      stoppedAt = performance.now();
      return;
    }
    if (signal === "SIGINT" && performance.now() - stoppedAt < SAME_SIGNAL_MS) return;
    const next = hasPending(folder) ? " A transaction is not finished: `infer resume` finishes it." : "";
    const off = process.stderr.isTTY ? markPastes.off : "";
    process.stderr.write(`${off}\nInterrupted.${asCalled(next, process.env)}\n`);
    process.exit(code);
  });
}
// A reader such as `head` closes stdout early.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

process.exitCode = await run(process.argv.slice(2), commands, {
  environment: process.env,
  workingFolder: process.cwd(),
  folder,
  isInteractive: process.stdin.isTTY && process.stderr.isTTY,
  say: (line) => void process.stderr.write(`${line}\n`),
  print: (data) => void process.stdout.write(data),
  ask,
  readInput,
  untilStopped,
  stdout: screenOf(process.stdout),
  stderr: screenOf(process.stderr),
  openPage,
});

function screenOf(stream: Partial<WriteStream>): Screen {
  const isColored = stream.isTTY === true && stream.hasColors?.() === true;
  return { columns: (stream.isTTY === true && stream.columns) || undefined, isColored };
}

async function untilStopped<T>(act: (signal: AbortSignal) => Promise<T>): Promise<T> {
  // Ctrl-C ends a process without a terminal, because no prompt follows.
  const controller = new AbortController();
  if (process.stdin.isTTY) stopping = controller;
  try {
    return await act(controller.signal);
  } finally {
    stopping = undefined;
  }
}

/** Asks a question at the terminal, on stderr. The answer to a hidden question is not shown. */
function ask(
  question: string,
  { hidden, signal }: { hidden?: boolean; signal?: AbortSignal } = {},
): Promise<string | undefined> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    return Promise.reject(new UsageError(`There is no terminal to ask at: ${question.trim()}`));
  }
  const output = new Writable({
    write(chunk, _, done) {
      if (!hidden) process.stderr.write(chunk);
      done();
    },
  });
  const past = hidden ? { historySize: 0 } : { history };
  const reader = createInterface({ input: lines.open(), output, terminal: true, ...past });
  reader.on("history", (lines) => {
    history = lines;
  });
  reader.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  // Otherwise readline writes the question, because it clears the line.
  process.stderr.write(hidden ? question : markPastes.on);
  reader.once("close", () => {
    lines.close();
    if (!hidden) process.stderr.write(markPastes.off);
  });
  return new Promise((resolve, reject) => {
    signal?.addEventListener("abort", () => {
      reject(signal.reason as Error);
      reader.close();
    });
    const onClose = () => {
      resolve(undefined);
      process.stderr.write("\n");
    };
    reader.once("close", onClose);
    reader.question(hidden ? "" : question, (answer) => {
      // Only our listener: readline's own stops reading the terminal.
      reader.off("close", onClose);
      resolve(lines.unmark(answer));
      reader.close();
      if (hidden) process.stderr.write("\n");
    });
  });
}

async function readInput(): Promise<string | undefined> {
  if (process.stdin.isTTY) return undefined;
  // A program that starts this one may never close its stdin.
  const notice = setTimeout(() => process.stderr.write("Reading stdin until it ends ...\n"), 1_000);
  return text(process.stdin).finally(() => clearTimeout(notice));
}

function openPage(url: string): void {
  const [program, ...args] =
    process.platform === "darwin"
      ? ["open", url]
      : process.platform === "win32"
        ? ["explorer.exe", url]
        : ["xdg-open", url];
  const child = spawn(program ?? "", args, { stdio: "ignore", detached: true });
  // Ignored: the address is printed too.
  child.on("error", () => {});
  child.unref();
}
