/**
 * Limits the bytes that all connections pass on in one turn of the event loop, because the reader of a chunk works on
 * it at once. Chunks beyond the limit wait for the next turn.
 */
export type Turns = {
  /** False if this turn has no room: `whenThereIs` is called in a later turn. A small chunk always has room. */
  hasRoomFor(bytes: number, whenThereIs: () => void): boolean;
};

const BYTES_A_TURN = 64 * 1024;
const SMALL_CHUNK_BYTES = 4 * 1024;

export function makeTurns(): Turns {
  let left = BYTES_A_TURN;
  const waiting: (() => void)[] = [];

  function next(): void {
    left = BYTES_A_TURN;
    let served = 0;
    // What finds no room stays. Without this, each turn would ask all that wait.
    while (left > 0 && served < waiting.length) waiting[served++]?.();
    waiting.splice(0, served);
  }

  return {
    hasRoomFor(bytes, whenThereIs) {
      if (left <= 0 && bytes > SMALL_CHUNK_BYTES) {
        waiting.push(whenThereIs);
        return false;
      }
      if (left > 0 && left <= bytes) setImmediate(next);
      left -= bytes;
      return true;
    },
  };
}
