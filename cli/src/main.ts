import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { commands } from "./commands/all.ts";
import { UsageError } from "./errors.ts";
import { run } from "./run.ts";
import { openStateFolder } from "./state-folder.ts";

/** The program `infer`. What is under way when a signal ends it is kept, so that the same command goes on. */
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const) {
  process.on(signal, () => {
    process.stderr.write("\nInterrupted. If anything was sent, the same command goes on with it.\n");
    process.exit(code);
  });
}
// A reader such as `head` may have enough.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

process.exitCode = await run(process.argv.slice(2), commands, {
  environment: process.env,
  workingFolder: process.cwd(),
  folder: openStateFolder(process.env),
  isInteractive: process.stdin.isTTY && process.stderr.isTTY,
  say: (line) => void process.stderr.write(`${line}\n`),
  print: (data) => void process.stdout.write(data),
  ask,
  readInput: async () => (process.stdin.isTTY ? undefined : text(process.stdin)),
  openPage,
});

/** A question at the terminal, on stderr. What is typed to a hidden one is not shown. */
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
  const reader = createInterface({ input: process.stdin, output, terminal: true });
  reader.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  // Else readline writes the question: it clears the line that it begins on.
  if (hidden) process.stderr.write(question);
  return new Promise((resolve, reject) => {
    signal?.addEventListener("abort", () => {
      reject(signal.reason as Error);
      reader.close();
    });
    reader.once("close", () => {
      resolve(undefined);
      process.stderr.write("\n");
    });
    reader.question(hidden ? "" : question, (answer) => {
      reader.removeAllListeners("close");
      resolve(answer);
      reader.close();
      if (hidden) process.stderr.write("\n");
    });
  });
}

function openPage(url: string): void {
  const [program, ...args] =
    process.platform === "darwin"
      ? ["open", url]
      : process.platform === "win32"
        ? ["explorer.exe", url]
        : ["xdg-open", url];
  const child = spawn(program ?? "", args, { stdio: "ignore", detached: true });
  // The address is printed too.
  child.on("error", () => {});
  child.unref();
}
