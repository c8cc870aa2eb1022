/** Commits the writes of many callers together: while one commit is being written, the next one gathers. */
export type GroupCommit = {
  /** Resolves once all writes until now are in a commit. If it fails, it rejects for all its callers. */
  join(): Promise<void>;
  /** Resolves once all writes until now are in a commit. For reads, which may have seen such writes. */
  settled(): Promise<void>;
  /** Resolves at a moment when nothing is being committed. */
  idle(): Promise<void>;
  /** Commits the gathered writes. */
  flush(): void;
};

type Options = {
  /** Passes all writes to the storage, synchronously. */
  write(): Promise<void> | undefined;
  /** Resolves once they are on the disk. */
  sync(): Promise<void>;
};

export function makeGroupCommit({ write, sync }: Options): GroupCommit {
  let gathering: PromiseWithResolvers<void> | undefined;
  let isBusy = false;
  let idlers: (() => void)[] = [];

  function flush(): void {
    const group = gathering;
    gathering = undefined;
    if (group === undefined) return;
    try {
      group.resolve(write());
    } catch (error) {
      group.reject(error);
      return;
    }
    isBusy = true;
    const goOn = (): void => {
      isBusy = false;
      flush();
      if (isBusy) return;
      for (const resolve of idlers) resolve();
      idlers = [];
    };
    // If the disk fails, the runtime ends the object.
    sync().then(goOn, goOn);
  }

  return {
    join() {
      gathering ??= Promise.withResolvers();
      const { promise } = gathering;
      if (!isBusy) flush();
      return promise;
    },
    idle: () => (isBusy ? new Promise((resolve) => idlers.push(resolve)) : Promise.resolve()),
    settled: () => gathering?.promise ?? Promise.resolve(),
    flush,
  };
}
