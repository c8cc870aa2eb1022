import { type Child, type Program, startChild } from "./child.ts";
import { DevnetError } from "./devnet-error.ts";

/** The processes of a devnet: one that ends unasked ends them all. */
export type Processes = {
  readonly children: readonly Child[];
  /** Resolves to the first failure. Never, if there is none. */
  readonly failure: Promise<DevnetError>;
  start(program: Program): Child;
  /** Ends a child while the others go on. */
  end(child: Child): Promise<void>;
  fail(error: DevnetError): void;
  /** What is to be done before a child is stopped. */
  beforeStop(child: Child, work: () => Promise<void>): void;
  /** Stops them, the last started first. */
  stop(): Promise<void>;
};

/** The gateway finishes the answers in flight for up to 20 s. */
const GRACE_MS = 25_000;

export function createProcesses(): Processes {
  const children: Child[] = [];
  const lastWork = new Map<Child, () => Promise<void>>();
  const failed = Promise.withResolvers<DevnetError>();
  const endedAlone = new Set<Child>();
  let stopping: Promise<void> | undefined;

  async function stopAll(): Promise<void> {
    for (const child of children.toReversed()) {
      await lastWork.get(child)?.();
      await child.stop(GRACE_MS);
    }
  }
  return {
    children,
    failure: failed.promise,
    start(program) {
      if (stopping !== undefined) throw new DevnetError("Stopped.");
      const child = startChild(program);
      children.push(child);
      void child.ended.then((error) => {
        if (stopping === undefined && !endedAlone.has(child) && program.mayEnd !== true) failed.resolve(error);
      });
      return child;
    },
    async end(child) {
      endedAlone.add(child);
      await child.stop(GRACE_MS);
      children.splice(children.indexOf(child), 1);
    },
    fail: failed.resolve,
    beforeStop: (child, work) => void lastWork.set(child, work),
    stop() {
      stopping ??= stopAll();
      return stopping;
    },
  };
}
