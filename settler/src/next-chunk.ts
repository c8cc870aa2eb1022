import { CHUNK_BYTES, MAX_CHUNK_AGENTS, type ServedPart, type SettleRecord } from "@inference/protocol/chunk";
import type { NanoUsd } from "@inference/protocol/money";

/** A statement that can be debited now. `payableNanoUsd` is the part that the account's credit covers. */
export type Payable = { record: SettleRecord; payableNanoUsd: NanoUsd };

export type ChunkLimits = {
  /** Gas of a transaction. EIP-7825 allows 2^24. */
  maxGas: number;
  /** Nodes refuse transactions above 128 KiB. */
  maxBytes: number;
};

/**
 * Upper bounds. An agent that never served before costs 61,000 of its bound. The rest pays for a search in the pool,
 * which costs more after many changes.
 */
const GAS = { chunk: 130_000, record: 7_800, agent: 90_000, part: 2_500 } as const;

/** Bytes of a transaction besides the records: its fields, its signature, and the call's three words. */
const ENVELOPE_BYTES = 512;

/**
 * The records that fit a chunk and the room of its day, oldest first. The contract pays the last one in part. One that
 * does not fit waits for the next chunk, and those behind it do not: the parts of agents make a record up to 700 times
 * as dear as another.
 */
export function nextChunk(due: readonly Payable[], roomNanoUsd: bigint, limits: ChunkLimits): SettleRecord[] {
  const records: SettleRecord[] = [];
  const agents = new Set<string>();
  let room = roomNanoUsd;
  let bytes = ENVELOPE_BYTES;
  let gas: number = GAS.chunk;
  for (const { record, payableNanoUsd } of due) {
    if (room <= 0n) break;
    const { parts } = record;
    const added = parts.map(agentDay).filter((name) => !agents.has(name));
    const newBytes = bytes + CHUNK_BYTES.record + CHUNK_BYTES.part * parts.length + CHUNK_BYTES.agent * added.length;
    const newGas = gas + GAS.record + GAS.part * parts.length + GAS.agent * added.length;
    const isAbove =
      newBytes > limits.maxBytes || newGas > limits.maxGas || agents.size + added.length > MAX_CHUNK_AGENTS;
    if (isAbove) continue;
    [bytes, gas] = [newBytes, newGas];
    for (const name of added) agents.add(name);
    records.push(record);
    room -= BigInt(payableNanoUsd);
  }
  return records;
}

export function gasOf(records: readonly SettleRecord[]): number {
  const parts = records.flatMap((record) => record.parts);
  const agents = new Set(parts.map(agentDay)).size;
  return GAS.chunk + GAS.record * records.length + GAS.agent * agents + GAS.part * parts.length;
}

function agentDay({ agent, day }: ServedPart): string {
  return `${agent} ${day}`;
}
