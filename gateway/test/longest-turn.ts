/**
 * The longest turn of the event loop while something runs, in milliseconds of this thread's processor time: what other
 * processes on the machine do does not count. Linux adds a running thread's time up at each tick, every 4 ms, so that a
 * turn of 9 ms may count as 12. No turn takes more processor time than time, which is known exactly.
 */
export function longestTurnMs(run: () => Promise<unknown>): Promise<number> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    let longestMs = 0;
    let usedBefore = usedMs();
    let before = performance.now();
    // The measurement makes no promise for each turn, because it would measure their collection.
    function turn(): void {
      const [used, now] = [usedMs(), performance.now()];
      longestMs = Math.max(longestMs, Math.min(used - usedBefore, now - before));
      usedBefore = used;
      before = now;
      if (isOver) resolve(longestMs);
      else setImmediate(turn);
    }
    run().then(() => {
      isOver = true;
    }, reject);
    setImmediate(turn);
  });
}

function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
