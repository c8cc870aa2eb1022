import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { DevnetError } from "./devnet-error.ts";

export type Program = {
  /** As messages call it. */
  name: string;
  /** A TypeScript file, run by the Node that runs us. */
  script: URL;
  args?: readonly string[];
  environment: Readonly<Record<string, string | undefined>>;
  /** Keeps what it says. */
  logFile: string;
  /** Its end is not the end of the others. */
  mayEnd?: boolean;
  /** What is wrong, if the line says it in words that help nobody: told in place of them if it ends. */
  explain?(line: string): string | undefined;
};

export type Child = {
  readonly name: string;
  readonly pid: number;
  /** Resolves to how it ended, once it and all that it started are gone. */
  readonly ended: Promise<DevnetError>;
  /** Resolves with the first line of its output that `parse` makes something of. Rejects if it ends before. */
  says<T>(parse: (line: string) => T | undefined): Promise<T>;
  /** Asks it to end, and makes it after `graceMs`. */
  stop(graceMs: number): Promise<void>;
};

/** What each child loads before its program. */
const preloads = ["end-with-parent.ts", "shifted-clock.ts"].flatMap((file) => [
  "--import",
  new URL(file, import.meta.url).href,
]);

export function startChild({ name, script, args = [], environment, logFile, explain }: Program): Child {
  const flags = ["--disable-warning=ExperimentalWarning", ...preloads];
  const child = spawn(process.execPath, [...flags, fileURLToPath(script), ...args], {
    // A group of its own: Ctrl-C reaches us alone, and we end our children in order.
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
      // What is killed cannot say why.
      const words = signal === "SIGKILL" ? "." : lastWords(lines, diedAt);
      resolve(new DevnetError(firstOf(lines, explain) ?? `The ${name} ${how}${words}`));
    });
  });
  return {
    name,
    pid: child.pid ?? 0,
    ended,
    says(parse) {
      return new Promise((resolve, reject) => {
        const listener = (line: string): void => {
          const parsed = parse(line);
          if (parsed === undefined) return;
          listeners.delete(listener);
          resolve(parsed);
        };
        listeners.add(listener);
        void ended.then(reject);
      });
    },
    async stop(graceMs) {
      child.kill("SIGTERM");
      const timer = setTimeout(() => killGroup(child), graceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

type Line = { text: string; at: number };

/** The lines kept of what a child said last. */
const MAX_LINES = 20;

function readLines(stream: Readable | null, hear: (line: string) => void): void {
  if (stream !== null) createInterface({ input: stream }).on("line", hear);
}

/** A log's entry that is older has nothing to do with the end. */
const LAST_WORDS_MS = 1_000;

/** The last line it said; of an uncaught error, the line with its message. */
function lastWords(lines: readonly Line[], diedAt: number): string {
  const words = lines
    .filter(({ text, at }) => !text.startsWith("{") || diedAt - at < LAST_WORDS_MS)
    .map(({ text }) => text.trim());
  const last = words.findLast((text) => /^\w*Error\b.*: /.test(text)) ?? words.at(-1);
  return last === undefined ? "." : `: ${last}`;
}

function firstOf(lines: readonly Line[], explain: Program["explain"]): string | undefined {
  for (const { text } of lines) {
    const explained = explain?.(text);
    if (explained !== undefined) return explained;
  }
  return undefined;
}

/** A child that was killed may leave behind what it started: it is in the child's group. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
