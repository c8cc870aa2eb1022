/**
 * The longest turn of the event loop while something runs, in milliseconds of this thread's processor time: what other
 * processes on the machine do does not count.
 */
export function longestTurnMs(run: () => Promise<unknown>): Promise<number> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    let longestUs = 0;
    let before = usedUs();
    // Without a promise a turn: what measures is not to make garbage, whose collection would be measured.
    function turn(): void {
      const now = usedUs();
      longestUs = Math.max(longestUs, now - before);
      before = now;
      if (isOver) resolve(longestUs / 1_000);
      else setImmediate(turn);
    }
    run().then(() => {
      isOver = true;
    }, reject);
    setImmediate(turn);
  });
}

function usedUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
