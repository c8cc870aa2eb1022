/** Commits of what many have written: while one is on its way to the disk, the next one gathers. */
export type GroupCommit = {
  /** Resolves once all that was written until now is in a commit, and rejects for everybody in it if that failed. */
  join(): Promise<void>;
  /** Also where nothing of one's own was written: what was read may be of a commit that still gathers. */
  settled(): Promise<void>;
  /** Commits what has gathered. */
  flush(): void;
};

type Options = {
  /** Hands everything to the storage, at once. */
  write(): Promise<void> | undefined;
  /** Resolves once that is on the disk. */
  sync(): Promise<void>;
};

export function makeGroupCommit({ write, sync }: Options): GroupCommit {
  let gathering: PromiseWithResolvers<void> | undefined;
  let isBusy = false;

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
    };
    // Where the disk fails, the runtime ends the object.
    sync().then(goOn, goOn);
  }

  return {
    join() {
      gathering ??= Promise.withResolvers();
      const { promise } = gathering;
      if (!isBusy) flush();
      return promise;
    },
    settled: () => gathering?.promise ?? Promise.resolve(),
    flush,
  };
}
