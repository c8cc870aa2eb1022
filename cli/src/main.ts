import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { commands } from "./commands/all.ts";
import { UsageError } from "./errors.ts";
import { hasPending } from "./pending.ts";
import { asCalled, run } from "./run.ts";
import { openStateFolder } from "./state-folder.ts";

/** The program `infer`. The next run finishes transactions that a signal interrupted. */
const folder = openStateFolder(process.env);
/** Earlier answers, the latest first. */
let history: string[] = [];

for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const) {
  process.on(signal, () => {
    const next = hasPending(folder) ? " A transaction is not finished: `infer resume` finishes it." : "";
    process.stderr.write(`\nInterrupted.${asCalled(next, process.env)}\n`);
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
  openPage,
});

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
  const reader = createInterface({ input: process.stdin, output, terminal: true, ...past });
  reader.on("history", (lines) => {
    history = lines;
  });
  reader.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  // Otherwise readline writes the question, because it clears the line.
  if (hidden) process.stderr.write(question);
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
      resolve(answer);
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
