import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import type { Address } from "@inference/protocol/credential";
import { ownValue } from "@inference/protocol/own-value";
import type { Cursor } from "./continuity.ts";
import { type EventSource, eventSource, mapped } from "./events.ts";

/**
 * The messages of the token's bridge, put together from the events of two chains, and the dollars that the primary
 * chain has booked. It is JSON, so that it can be stored with the cursors. Amounts are decimal strings, in token units.
 */
export type Messages = {
  /** By chain id. */
  cursors: Record<string, Cursor>;
  /** By endpoint id of the secondary chain. */
  bookedToken: Record<string, string>;
  /** The messages sent so far, by `source>destination` in endpoint ids: the last one's LayerZero nonce. */
  nonces: Record<string, number>;
  byGuid: Record<string, MessageRecord>;
};

export type MessageRecord = {
  guid: string;
  kind: "transfer" | "activation";
  sourceEid: number;
  destinationEid: number;
  from: Address;
  to: Address;
  amountToken: string;
  /** Absent until the sending event is read. A message that has arrived without it is forged, or read too early. */
  sent?: Place & { nonce: number };
  waiting?: Place;
  delivered?: Place;
  discarded?: Place;
};

/** `at`, the time of the block in ms, is read later. */
export type Place = { block: number; transaction: string; isFinal: boolean; at?: number };

export function noMessages(): Messages {
  return { cursors: {}, bookedToken: {}, nonces: {}, byGuid: {} };
}

/** Applies an event. */
export type Fold = (messages: Messages, place: Place) => void;

/** The events of a chain that are followed. Only the primary chain has a minter that books. */
export function sourcesOf(chain: { eid: number; bridge: Address; minter: Address | null }): EventSource<Fold>[] {
  const { eid, bridge, minter } = chain;
  const sources: EventSource<Fold>[] = [
    mapped(eventSource(bridge, tokenBridgeAbi, "Sent"), ({ guid, dstEid, message }) => (messages, place) => {
      const path = `${eid}>${dstEid}`;
      const nonce = (ownValue(messages.nonces, path) ?? 0) + 1;
      messages.nonces[path] = nonce;
      merge(messages, { ...recordOf(guid, eid, dstEid, message), sent: { ...place, nonce } });
    }),
    mapped(eventSource(bridge, tokenBridgeAbi, "Waiting"), ({ guid, srcEid, message }) => (messages, place) => {
      merge(messages, { ...recordOf(guid, srcEid, eid, message), waiting: place });
    }),
    mapped(eventSource(bridge, tokenBridgeAbi, "Delivered"), ({ guid, srcEid, message }) => (messages, place) => {
      merge(messages, { ...recordOf(guid, srcEid, eid, message), delivered: place });
    }),
    mapped(eventSource(bridge, tokenBridgeAbi, "Discarded"), ({ guid }) => (messages, place) => {
      const known = messages.byGuid[guid];
      if (known !== undefined) merge(messages, { ...known, discarded: place });
    }),
  ];
  if (minter === null) return sources;
  const booked = eventSource(minter, tokenMinterAbi, "Booked");
  sources.push(
    mapped(booked, ({ eid: secondary, amount }) => ({ bookedToken }) => {
      bookedToken[secondary] = String(BigInt(bookedToken[secondary] ?? 0) + amount);
    }),
  );
  return sources;
}

type SentMessage = { kind: number; from: Address; to: Address; amount: bigint };

function recordOf(guid: string, sourceEid: number, destinationEid: number, message: SentMessage): MessageRecord {
  return {
    ...{ guid, sourceEid, destinationEid },
    kind: message.kind === ACTIVATION ? "activation" : "transfer",
    from: message.from.toLowerCase() as Address,
    to: message.to.toLowerCase() as Address,
    amountToken: String(message.amount),
  };
}

const ACTIVATION = 1;

/** The other chain may have reported the message before. */
function merge({ byGuid }: Messages, record: MessageRecord): void {
  byGuid[record.guid] = { ...ownValue(byGuid, record.guid), ...record };
}

/** Whether the message was burned and has not taken effect. */
export function isOpen({ sent, delivered, discarded }: MessageRecord): boolean {
  return sent !== undefined && delivered === undefined && discarded === undefined;
}

/** Whether the message arrived without a sending event in the blocks read of its source chain. */
export function isUnsent({ sent, discarded }: MessageRecord): boolean {
  return sent === undefined && discarded === undefined;
}

/** A delivered message is kept for a day, and of such messages the last thousand. */
const KEPT_MS = 24 * 3_600_000;
const KEPT_MESSAGES = 1_000;

/** Removes old messages that have ended. */
export function forgetMessages({ byGuid }: Messages, now: number): void {
  const ended = Object.values(byGuid).filter(hasEnded);
  ended.sort((one, other) => (endOf(other)?.at ?? now) - (endOf(one)?.at ?? now));
  for (const [place, record] of ended.entries()) {
    const at = endOf(record)?.at;
    if (place >= KEPT_MESSAGES || (at !== undefined && at < now - KEPT_MS)) delete byGuid[record.guid];
  }
}

function hasEnded(record: MessageRecord): boolean {
  return !isOpen(record) && !isUnsent(record) && endOf(record)?.isFinal === true;
}

function endOf({ delivered, discarded }: MessageRecord): Place | undefined {
  return delivered ?? discarded;
}
