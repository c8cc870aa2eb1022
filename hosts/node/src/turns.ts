/**
 * Limits what all connections do in one turn of the event loop: the bytes that they pass on, or the requests that they
 * begin. Work that does not fit waits for the next turn.
 */
export type Turns = {
  /** False if this turn has no room: `whenThereIs` is called in a later turn, and asks again. */
  hasRoomFor(amount: number, whenThereIs: () => void): boolean;
};

/** Bytes, because the reader of a chunk works on it at once. A small chunk always has room. */
export const BYTES_A_TURN = { amount: 64 * 1024, small: 4 * 1024 };

/** @param turn The amount of a turn, and an amount that need not wait. */
export function makeTurns(turn: { amount: number; small?: number }): Turns {
  const { amount: most, small = 0 } = turn;
  let left = most;
  const waiting: (() => void)[] = [];

  function next(): void {
    left = most;
    let served = 0;
    // Work that does not fit stays. Without this, each turn would ask all that wait.
    while (left > 0 && served < waiting.length) waiting[served++]?.();
    waiting.splice(0, served);
  }

  return {
    hasRoomFor(amount, whenThereIs) {
      if (left <= 0 && amount > small) {
        waiting.push(whenThereIs);
        return false;
      }
      if (left > 0 && left <= amount) setImmediate(next);
      left -= amount;
      return true;
    },
  };
}
