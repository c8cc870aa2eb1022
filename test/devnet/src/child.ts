import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { DevnetError } from "./devnet-error.ts";
import type { Program } from "./programs.ts";

export type Run = {
  args?: readonly string[];
  environment: Readonly<Record<string, string | undefined>>;
  /** Translates a line that explains the end of the child. */
  explain?(line: string): string | undefined;
};

export type Child = {
  readonly name: string;
  readonly pid: number;
  /** Resolves to the reason of its end, once it and its own children are gone. */
  readonly ended: Promise<DevnetError>;
  /** Resolves to the first result of `parse` for a line of output. Rejects if the child ends before. */
  says<T>(parse: (line: string) => T | undefined): Promise<T>;
  /** Resolves to the first group of its program's `ready`, or the whole match. */
  ready(): Promise<string>;
  /** Sends SIGTERM, and SIGKILL after `graceMs`. */
  stop(graceMs: number): Promise<void>;
};

/** Modules that each child loads before its program. */
const preloads = ["end-with-parent.ts", "shifted-clock.ts"].flatMap((file) => [
  "--import",
  new URL(file, import.meta.url).href,
]);

export function startChild(
  { name, script, ready }: Omit<Program, "log">,
  { args = [], environment, logFile, explain }: Run & { logFile: string },
): Child {
  const flags = ["--disable-warning=ExperimentalWarning", ...preloads];
  const child = spawn(process.execPath, [...flags, fileURLToPath(script), ...args], {
    // A group of its own, so that Ctrl-C reaches the devnet only, which ends its children in order.
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: { ...environment },
  });
  const lines: Line[] = [];
  const listeners = new Set<(line: string) => void>();
  const log = createWriteStream(logFile, { mode: 0o600 });
  // A full disk costs the log, not the devnet.
  log.on("error", () => undefined);
  const hear = (line: string): void => {
    log.write(`${line}\n`);
    if (line.trim() === "") return;
    lines.push({ text: line, at: performance.now() });
    if (lines.length > MAX_LINES) lines.shift();
    for (const listener of listeners) listener(line);
  };
  for (const stream of [child.stdout, child.stderr]) readLines(stream, hear);
  let diedAt = Number.POSITIVE_INFINITY;
  child.once("exit", () => {
    diedAt = performance.now();
    killGroup(child);
  });
  const ended = new Promise<DevnetError>((resolve) => {
    child.once("error", (error) => resolve(new DevnetError(`The ${name} did not start: ${error.message}.`)));
    child.once("close", (code, signal) => {
      log.end();
      const how = signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
      const words = signal === "SIGKILL" ? "." : lastWords(lines, diedAt);
      resolve(new DevnetError(firstOf(lines, explain) ?? `The ${name} ${how}${words}`));
    });
  });
  const says: Child["says"] = (parse) =>
    new Promise((resolve, reject) => {
      const listener = (line: string): void => {
        const parsed = parse(line);
        if (parsed === undefined) return;
        listeners.delete(listener);
        resolve(parsed);
      };
      listeners.add(listener);
      void ended.then(reject);
    });
  return {
    name,
    pid: child.pid ?? 0,
    ended,
    says,
    ready: () =>
      says((line) => {
        const found = ready?.exec(line);
        return found?.[1] ?? found?.[0];
      }),
    async stop(graceMs) {
      child.kill("SIGTERM");
      const timer = setTimeout(() => killGroup(child), graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

type Line = { text: string; at: number };

/** The number of last lines that are kept. */
const MAX_LINES = 20;

function readLines(stream: Readable | null, hear: (line: string) => void): void {
  if (stream !== null) createInterface({ input: stream }).on("line", hear);
}

/** An older log entry is unrelated to the end. */
const LAST_WORDS_MS = 1_000;

/** The last line, or the message of an uncaught error. */
function lastWords(lines: readonly Line[], diedAt: number): string {
  const words = lines
    .filter(({ text, at }) => !text.startsWith("{") || diedAt - at < LAST_WORDS_MS)
    .map(({ text }) => text.trim());
  const last = words.findLast((text) => /^\w*Error\b.*: /.test(text)) ?? words.at(-1);
  return last === undefined ? "." : `: ${last}`;
}

function firstOf(lines: readonly Line[], explain: Run["explain"]): string | undefined {
  for (const { text } of lines) {
    const explained = explain?.(text);
    if (explained !== undefined) return explained;
  }
  return undefined;
}

/** Ends the children that a killed child left in its group. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
