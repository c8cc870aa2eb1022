import type { Partition } from "@inference/ledger/partition";

/**
 * Which rows of time-ordered ids were never written: most ids that a command looks up are new, and asking SQLite for
 * what is not there costs as much as the rest of the command. One Bloom filter for each stretch of time that ids name
 * in their first letters, the newest few: a row that was written is always found, one that was not nearly never.
 */
export type WrittenIds = {
  add(partition: Partition, table: number, id: string): void;
  /** False: there is no such row, in memory or on disk. */
  mayHave(partition: Partition, table: number, id: string): boolean;
};

/** `req_`, and what of the time names 8.192 s: 35 of its 48 bits. */
const STRETCH_LETTERS = 4 + 7;
/** An id's last letters are random: two hashes of six letters each. */
const ID_LETTERS = 30;
const HASH_LETTERS = 6;
const FIRST_HASH = ID_LETTERS - 2 * HASH_LETTERS;
const SECOND_HASH = ID_LETTERS - HASH_LETTERS;
/** 65 s of the past. An older id is asked for on disk. */
const MAX_STRETCHES = 8;
/** 512 kB: below one in ten wrongly "maybe" at 20,000 requests a second, four rows each. */
const BITS = 2 ** 22;

/** @param newest The newest id on disk, or "": what is there is not in the filters, so they begin after it. */
export function openWrittenIds(newest: string): WrittenIds {
  const complete = stretchOf(newest);
  const stretches = new Map<string, Uint32Array>();

  /** Whether only the disk knows what was written in an id's stretch. */
  function isOfDisk(id: string, stretch: string): boolean {
    return id.length !== ID_LETTERS || (!stretches.has(stretch) && (stretch <= complete || stretch <= dropped));
  }

  function filterOf(stretch: string): Uint32Array | undefined {
    const known = stretches.get(stretch);
    if (known !== undefined) return known;
    stretches.set(stretch, new Uint32Array(BITS / 32));
    if (stretches.size > MAX_STRETCHES) dropOldest();
    return stretches.get(stretch);
  }

  /** The newest stretch that was given up: no filter of an older one would know what was in it. */
  let dropped = "";
  function dropOldest(): void {
    let oldest: string | undefined;
    for (const stretch of stretches.keys()) if (oldest === undefined || stretch < oldest) oldest = stretch;
    if (oldest === undefined) return;
    stretches.delete(oldest);
    if (oldest > dropped) dropped = oldest;
  }

  return {
    add(partition, table, id) {
      const stretch = stretchOf(id);
      const filter = isOfDisk(id, stretch) ? undefined : filterOf(stretch);
      if (filter === undefined) return;
      const salt = saltOf(partition, table);
      setBit(filter, hashAt(id, FIRST_HASH, salt));
      setBit(filter, hashAt(id, SECOND_HASH, salt));
    },
    mayHave(partition, table, id) {
      const stretch = stretchOf(id);
      if (isOfDisk(id, stretch)) return true;
      const filter = stretches.get(stretch);
      // Nothing was written in a stretch that has none: whoever asks makes none.
      if (filter === undefined) return false;
      const salt = saltOf(partition, table);
      return isSet(filter, hashAt(id, FIRST_HASH, salt)) && isSet(filter, hashAt(id, SECOND_HASH, salt));
    },
  };
}

function setBit(filter: Uint32Array, bit: number): void {
  filter[bit >>> 5] = (filter[bit >>> 5] ?? 0) | (1 << (bit & 31));
}

function isSet(filter: Uint32Array, bit: number): boolean {
  return ((filter[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
}

function stretchOf(id: string): string {
  return id.slice(0, STRETCH_LETTERS);
}

/** One id lies in partitions of different kinds, whose names differ in length. */
function saltOf(partition: Partition, table: number): number {
  return Math.imul(partition.length * 32 + table, 0x9e3779b1);
}

function hashAt(id: string, from: number, salt: number): number {
  let hash = salt;
  for (let index = from; index < from + HASH_LETTERS; index++) hash = Math.imul(hash, 33) ^ id.charCodeAt(index);
  return (hash ^ (hash >>> 15)) & (BITS - 1);
}
