import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import manifest from "../package.json" with { type: "json" };
import { oneLine } from "./log.ts";

/** A service of a process: keeper or agent's computer. */
export type Service = {
  /** Rejects when the service cannot go on. */
  readonly ended?: Promise<void>;
  stop(): Promise<void>;
};

export type Program = {
  name: string;
  /** The text that `--help` prints. */
  usage: string;
};

/**
 * Runs a service until a signal ends it. A service that cannot start, go on or stop ends the process with code 1 and
 * one line. `--help` and `--version` print a text and end.
 */
export async function runProcess({ name, usage }: Program, start: () => Service | Promise<Service>): Promise<void> {
  try {
    const options = { help: { type: "boolean", short: "h" }, version: { type: "boolean" } } as const;
    const { help, version } = parseArgs({ options }).values;
    if (help || version) {
      process.stdout.write(help ? usage : `${manifest.version}\n`);
      process.exit(0);
    }
    const service = await start();
    let isStopping = false;
    const stop = (): void => {
      // Ctrl-C reaches a program that npm started twice.
      if (isStopping) return;
      isStopping = true;
      service.stop().then(
        () => process.exit(0),
        (error: unknown) => exitWith(`The ${name} did not stop cleanly: ${oneLine(error)}`),
      );
    };
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, stop);
    await service.ended;
  } catch (error) {
    exitWith(oneLine(error));
  }
}

/**
 * Repeats `round`, which resolves to the pause before the next one, until the loop is stopped. `ended` rejects with the
 * error of a round. `wake` ends the pause.
 */
export function startLoop(round: (signal: AbortSignal) => Promise<number>): Required<Service> & { wake(): void } {
  const abort = new AbortController();
  let awake = new AbortController();
  async function run(): Promise<void> {
    while (!abort.signal.aborted) {
      awake = new AbortController();
      const pauseMs = await round(abort.signal);
      if (abort.signal.aborted) return;
      await sleep(pauseMs, undefined, { signal: awake.signal }).catch(() => {});
    }
  }
  const ended = run();
  // A rejection needs a listener before stop() is called, or it ends the process.
  ended.catch(() => {});
  return {
    ended,
    wake: () => awake.abort(),
    stop() {
      abort.abort();
      awake.abort();
      return ended;
    },
  };
}

function exitWith(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
