import { type Child, type Run, startChild } from "./child.ts";
import { DevnetError } from "./devnet-error.ts";
import type { Folder } from "./folder.ts";
import type { Program } from "./programs.ts";

/** The child processes of a devnet. An unexpected end of one ends all of them. */
export type Processes = {
  readonly children: readonly Child[];
  /** Resolves to the first failure. */
  readonly failure: Promise<DevnetError>;
  start(program: Program, run: Run): Child;
  /** Ends one child. */
  end(child: Child): Promise<void>;
  fail(error: DevnetError): void;
  /** Runs `work` before the child is stopped. */
  beforeStop(child: Child, work: () => Promise<void>): void;
  /** Starts a program that reads the devnet's time once, at its start. Resolves when it works. */
  startTimed(begin: () => Promise<Child>): Promise<Child>;
  /** Ends the programs of `startTimed`, runs `work`, and starts them again, also after a failure. */
  restartTimed(work: () => Promise<void>): Promise<void>;
  /** Stops all, the last started first. */
  stop(): Promise<void>;
};

/** The gateway finishes the answers in flight for up to 20 s. */
const GRACE_MS = 25_000;

export function createProcesses({ file }: Pick<Folder, "file">): Processes {
  const children: Child[] = [];
  const lastWork = new Map<Child, () => Promise<void>>();
  const timed: { begin(): Promise<Child>; child: Child }[] = [];
  const failed = Promise.withResolvers<DevnetError>();
  const ending = new Set<Child>();
  let stopping: Promise<void> | undefined;

  async function stopAll(): Promise<void> {
    for (const child of children.toReversed()) {
      await lastWork.get(child)?.();
      await child.stop(GRACE_MS);
    }
  }
  async function end(child: Child): Promise<void> {
    ending.add(child);
    await child.stop(GRACE_MS);
    children.splice(children.indexOf(child), 1);
  }
  return {
    children,
    failure: failed.promise,
    start(program, run) {
      if (stopping !== undefined) throw new DevnetError("Stopped.");
      const child = startChild(program, { ...run, logFile: file(program.log) });
      children.push(child);
      void child.ended.then((error) => {
        if (stopping === undefined && !ending.has(child) && program.mayEnd !== true) failed.resolve(error);
      });
      return child;
    },
    end,
    fail: failed.resolve,
    beforeStop: (child, work) => void lastWork.set(child, work),
    async startTimed(begin) {
      const child = await begin();
      timed.push({ begin, child });
      return child;
    },
    async restartTimed(work) {
      for (const { child } of timed.toReversed()) await end(child);
      try {
        await work();
      } finally {
        // In their order: computers offer to a gateway that works.
        for (const each of timed) each.child = await each.begin();
      }
    },
    stop() {
      stopping ??= stopAll();
      return stopping;
    },
  };
}
