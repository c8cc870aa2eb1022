/**
 * Gathers the parts of a body. Small parts are copied into blocks, because each part takes memory of its own. A part
 * of half a block or more is kept without a copy, because fresh memory is the largest cost of a large body.
 */
export type BodyBlocks = {
  append(part: Uint8Array): void;
  /** The appended bytes, in order. */
  end(): Uint8Array[];
};

const BLOCK_BYTES = 64 * 1024;

export function makeBodyBlocks(): BodyBlocks {
  const full: Uint8Array[] = [];
  let block = new Uint8Array(0);
  let used = 0;
  let total = 0;

  function endBlock(): void {
    if (used > 0) full.push(used === block.length ? block : block.slice(0, used));
    block = new Uint8Array(0);
    used = 0;
  }

  return {
    append(part) {
      const { length } = part;
      if (length >= BLOCK_BYTES / 2 || length > block.length - used) endBlock();
      if (length >= BLOCK_BYTES / 2) full.push(part);
      else {
        // A small body takes at most twice what it needs.
        if (used === 0) block = new Uint8Array(Math.max(length, Math.min(BLOCK_BYTES, Math.max(total, 1024))));
        block.set(part, used);
        used += length;
      }
      total += length;
    },
    end() {
      endBlock();
      return full;
    },
  };
}
