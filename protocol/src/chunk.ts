import { bytesToHex, concatHex, type Hex, hexToBytes, numberToHex } from "viem";
import type { Address } from "./credential.ts";
import { type Keccak, pureKeccak } from "./merkle-tree.ts";
import { isNanoUsd, type NanoUsd } from "./money.ts";

/** A debit of one account from a known total, as asked of `settle` or as booked by it. */
export type SettleRecord = {
  account: Address;
  /** The account's debited total before this record, and the amount added. */
  beforeNanoUsd: NanoUsd;
  amountNanoUsd: NanoUsd;
  /** The Merkle root of the statement's uses. */
  root: `0x${string}`;
  /** The agents' parts of the amount. */
  parts: readonly ServedPart[];
};

export type ServedPart = {
  agent: Address;
  /** The UTC day of the agent's allowance, in days since 1970. */
  day: number;
  amountNanoUsd: NanoUsd;
};

/** The bytes of a chunk: one, and these for each agent and day, record and part. */
export const CHUNK_BYTES = { agent: 22, record: 69, part: 9 } as const;

/** The most pairs of agent and day in a chunk, and the most parts of a record. */
export const MAX_CHUNK_AGENTS = 255;

/**
 * The `data` of `settle`, big-endian and packed: `agents u8`, then each `agent 20 | day u16` in ascending order of these
 * bytes; then each record `account 20 | before u64 | amount u64 | root 32 | parts u8`, then each of its parts
 * `index of the agent u8 | amount u64`.
 */
export function encodeChunk(records: readonly SettleRecord[]): Uint8Array {
  const names = [...new Set(records.flatMap(({ parts }) => parts.map(agentDay)))].sort();
  if (names.length > MAX_CHUNK_AGENTS) throw new RangeError(`a chunk has at most ${MAX_CHUNK_AGENTS} agents and days`);
  const indexes = new Map(names.map((name, index) => [name, index]));
  const part = (each: ServedPart): Hex[] => [
    integer(indexes.get(agentDay(each)) ?? 0, 1),
    integer(each.amountNanoUsd, 8),
  ];
  const written = records.flatMap((record) => [...head(record), ...record.parts.flatMap(part)]);
  return hexToBytes(concatHex([integer(names.length, 1), ...names, ...written]));
}

/** The bytes of an agent and a day. */
function agentDay({ agent, day }: ServedPart): Hex {
  return concatHex([sized(agent.toLowerCase() as Address, 20), integer(day, 2)]);
}

/** The records of `settle`'s data, or of a `Settled` event's, which has them as booked. Throws a {@link ChunkError}. */
export function decodeChunk(data: Uint8Array): SettleRecord[] {
  const reader = makeReader(data);
  const agents = Array.from({ length: reader.integer(1) }, () => ({ agent: reader.hex(20), day: reader.integer(2) }));
  const records: SettleRecord[] = [];
  while (!reader.isAtEnd()) {
    const account = reader.hex(20);
    const beforeNanoUsd = reader.amount();
    const amountNanoUsd = reader.amount();
    const root = reader.hex(32);
    const parts = Array.from({ length: reader.integer(1) }, () => {
      const agent = agents[reader.integer(1)];
      if (agent === undefined) throw new ChunkError("a part names an agent that is not in the chunk's table");
      return { ...agent, amountNanoUsd: reader.amount() };
    });
    records.push({ account, beforeNanoUsd, amountNanoUsd, root, parts });
  }
  return records;
}

/**
 * The leaf of a booked record in its chunk's tree: the hash of `account 20 | before u64 | amount u64 | root 32 | parts u8`
 * and of each part `agent 20 | day u16 | amount u64`. It is longer than 64 bytes: no inner node passes as a leaf.
 */
export function recordLeaf(record: SettleRecord, keccak: Keccak = pureKeccak): Uint8Array {
  const parts = record.parts.flatMap((part) => [agentDay(part), integer(part.amountNanoUsd, 8)]);
  return keccak(hexToBytes(concatHex([...head(record), ...parts])));
}

/** The bytes of a record before its parts. */
function head({ account, beforeNanoUsd, amountNanoUsd, root, parts }: SettleRecord): Hex[] {
  const amounts = [integer(beforeNanoUsd, 8), integer(amountNanoUsd, 8)];
  return [sized(account, 20), ...amounts, sized(root, 32), integer(parts.length, 1)];
}

function sized(text: Hex, size: number): Hex {
  if (text.length !== 2 + 2 * size) throw new RangeError(`${text} has not ${size} bytes`);
  return text;
}

function integer(value: number, size: number): Hex {
  if (Number.isSafeInteger(value) && value >= 0 && value < 2 ** (8 * size)) return numberToHex(value, { size });
  throw new RangeError(`${value} does not fit ${size} bytes`);
}

function makeReader(data: Uint8Array) {
  let at = 0;
  const take = (size: number): Uint8Array => {
    at += size;
    if (at > data.length) throw new ChunkError(`it ends within a record, at byte ${data.length}`);
    return data.subarray(at - size, at);
  };
  const integer = (size: number): number => take(size).reduce((value, byte) => value * 256 + byte, 0);
  return {
    isAtEnd: () => at === data.length,
    hex: (size: number): `0x${string}` => bytesToHex(take(size)),
    integer,
    amount(): NanoUsd {
      const value = integer(8);
      if (!isNanoUsd(value)) throw new ChunkError("an amount is above the largest, 9e15 nano-dollars");
      return value;
    },
  };
}

/** The data is no chunk. */
export class ChunkError extends Error {
  override name = "ChunkError";
}
