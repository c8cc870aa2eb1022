import type { Log } from "@inference/keeper/log";
import type { Hex } from "viem";
import { endpointAbi } from "./abi.ts";
import { type Chain, isSame } from "./chain.ts";
import { decodePacket, type Packet } from "./packet.ts";
import type { Cursor, Store } from "./store.ts";

/** Blocks that are asked for at once. */
const MAX_BLOCKS = 2_000;
/** What is read again after a reorganization that went deeper than the confirmations, in multiples of these. */
const REWIND = 4;

export type Source = {
  chain: Chain;
  store: Store;
  /** The chains that messages are carried to. */
  destinations: ReadonlySet<number>;
  now(): number;
  log: Log;
};

/**
 * Reads the messages that a chain has sent since the last call and that have enough confirmations. Nothing is skipped:
 * a message that a node hides leaves a gap in the nonces of its path, and then nothing of that range is accepted.
 *
 * Test equipment with a follower of its own: the relayer stands for LayerZero's workers, so it shares no code with the
 * event follower that its messages test.
 *
 * @returns Whether there is more to read at once.
 */
export async function follow(source: Source): Promise<boolean> {
  const { chain, store, now } = source;
  const { eid, confirmations, startBlock } = chain.settings;
  const cursor = store.cursor(eid);
  const final = Number(await chain.reader.getBlockNumber()) - confirmations;
  const from = cursor === undefined ? startBlock : cursor.block + 1;
  const to = Math.min(final, from + MAX_BLOCKS - 1);
  if (to < from) return false;
  if (cursor !== undefined && (await hashOf(chain, cursor.block)) !== cursor.hash) {
    await rewind(source, cursor);
    // At the next poll: a node that changes its mind again and again is not to keep us busy.
    return false;
  }
  const hash = await hashOf(chain, to);
  const told = await messagesBetween(source, from, to);
  const messages = gapIn(store, told) === undefined ? told : [...(await messagesBefore(source, from)), ...told];
  const gap = gapIn(store, messages);
  if (gap !== undefined) throw new GapError(`${gap}: the node hides a message.`);
  store.advance(
    eid,
    { block: to, hash },
    messages.map((message) => ({ ...message, seenAt: now() })),
  );
  return to < final;
}

type Message = { packet: Packet; options: Hex };

async function messagesBetween({ chain, destinations }: Source, from: number, to: number): Promise<Message[]> {
  const { endpoint, sendLibrary, eid } = chain.settings;
  const logs = await chain.reader.getContractEvents({
    address: endpoint,
    abi: endpointAbi,
    eventName: "PacketSent",
    fromBlock: BigInt(from),
    toBlock: BigInt(to),
    strict: true,
  });
  return logs
    .filter(({ args }) => isSame(args.sendLibrary, sendLibrary))
    .map(({ args }) => ({ packet: decodePacket(args.encodedPayload), options: args.options }))
    .filter(({ packet }) => packet.srcEid === eid && destinations.has(packet.dstEid));
}

async function messagesBefore(source: Source, end: number): Promise<Message[]> {
  const messages: Message[] = [];
  for (let from = source.chain.settings.startBlock; from < end; from += MAX_BLOCKS) {
    messages.push(...(await messagesBetween(source, from, Math.min(end, from + MAX_BLOCKS) - 1)));
  }
  return messages;
}

/** Where a nonce is missing: every path begins with 1. */
function gapIn(store: Store, messages: readonly Message[]): string | undefined {
  const last = new Map<string, bigint>();
  for (const { packet } of messages) {
    const before = last.get(packet.path) ?? store.lastNonce(packet.path);
    if (packet.nonce > before + 1n) return `${packet.path} goes from nonce ${before} to ${packet.nonce}`;
    if (packet.nonce > before) last.set(packet.path, packet.nonce);
  }
  return undefined;
}

/** A message is known by its bytes: reading it again does nothing. */
async function rewind({ chain, store, log }: Source, cursor: Cursor): Promise<void> {
  const { eid, confirmations, startBlock } = chain.settings;
  const block = Math.max(startBlock, cursor.block - REWIND * Math.max(confirmations, 1));
  log("alert", "reorganized", { eid, block: cursor.block, confirmations, readAgainFrom: block });
  store.rewind(eid, { block, hash: await hashOf(chain, block) });
}

async function hashOf({ reader }: Chain, block: number): Promise<Hex> {
  return (await reader.getBlock({ blockNumber: BigInt(block) })).hash;
}

/** A node told less than there is. */
class GapError extends Error {
  override readonly name = "GapError";
}
