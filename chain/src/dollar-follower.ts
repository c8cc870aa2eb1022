import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { BridgeMessage, DollarView, FollowedChain, FollowedChains } from "@inference/protocol/dollars";
import { joined } from "@inference/protocol/joined";
import { ownValue } from "@inference/protocol/own-value";
import { createAlarm } from "./alarm.ts";
import {
  type Fold,
  forgetMessages,
  isOpen,
  isUnsent,
  type MessageRecord,
  type Messages,
  noMessages,
  type Place,
  sourcesOf,
} from "./bridge-messages.ts";
import { type Block, readBlock, readChainId } from "./chain-view.ts";
import { createEventFollower } from "./event-follower.ts";
import { type ChainEvent, readEvents } from "./events.ts";
import type { Confirmations, Heads } from "./heads.ts";
import type { ChainClient } from "./rpc.ts";
import { isVerified, readSecondaryBooks } from "./secondary-books.ts";

/**
 * Follows the dollars of the secondary chains: the messages of the token's bridge on every chain, and each chain's
 * books. For display only: credits come from the settlement's own events (`settlement-watcher.ts`).
 */
export type DollarFollower = {
  /** One bounded step. Never throws. A call during a poll joins that poll. */
  poll(): Promise<void>;
  /** The view of the last complete poll; null before it. */
  view(): DollarView | null;
};

export type DollarFollowerOptions = {
  followed: FollowedChains;
  clientOf(rpcUrl: string): ChainClient;
  confirmations: Confirmations;
  /** Keeps a text that may be lost: the chains are then read again from their start blocks. */
  store: { load(): Promise<string | null>; save(text: string): Promise<void> };
  now(): number;
  onAlert(message: string): void;
};

const MAX_BLOCKS = 2_000;
/** Ranges of a chain that are read in one poll. */
const MAX_RANGES = 25;
/** How long a node may fail before the operator is alerted. */
const PATIENCE_MS = 120_000;
const SAVE_EVERY_MS = 60_000;
/** Messages whose block times and attestations are read in one poll. */
const MAX_LOOK_UPS = 25;
/** How often a message without a burn may be seen before it counts as forged: its chain may be read a moment later. */
const PATIENT_POLLS = 3;

export function createDollarFollower(options: DollarFollowerOptions): DollarFollower {
  const { followed, store, now } = options;
  const alarm = createAlarm(options);
  const primary = follow(followed.primary, options);
  const secondaries = followed.secondaries.map((chain) => follow(chain, options));
  const chains = [primary, ...secondaries];
  let messages: Messages | undefined;
  let view: DollarView | null = null;
  let savedAt = Number.NEGATIVE_INFINITY;
  let failingSince: number | undefined;
  let unsentPolls = 0;
  /** The messages in transit that their destinations have verified, and the place of the next one to ask for. */
  let verified = new Set<string>();
  let nextLookUp = 0;

  async function load(): Promise<Messages> {
    const text = await store.load();
    const stored = text === null ? undefined : (JSON.parse(text) as StoredMessages);
    return stored?.version === VERSION ? stored.messages : noMessages();
  }

  async function save(known: Messages): Promise<void> {
    if (now() - savedAt < SAVE_EVERY_MS) return;
    savedAt = now();
    try {
      await store.save(JSON.stringify({ version: VERSION, messages: known } satisfies StoredMessages));
    } catch (error) {
      // Such as a text that is larger than the store takes. A restart reads all again.
      alarm("store", `what was read of the dollars' chains could not be stored: ${String(error)}`);
    }
  }

  /** False if there is more to read. */
  async function readFinal(known: Messages, heads: readonly Heads[]): Promise<boolean> {
    let isWhole = true;
    for (const [index, chain] of chains.entries()) {
      const obstacle = await chain.obstacle(known, heads[index] as Heads);
      if (obstacle?.outcome === "halted") {
        messages = noMessages();
        view = null;
        options.onAlert(`chain ${chain.chainId}: dollars are read again from the start: ${obstacle.reason}`);
      }
      if (obstacle !== undefined) throw new ChainUnavailable(`chain ${chain.chainId}: ${obstacle.reason}`);
      isWhole = (await chain.readFinal(known, heads[index] as Heads)) && isWhole;
    }
    return isWhole;
  }

  async function step(): Promise<void> {
    messages ??= await load();
    const known = messages;
    const heads = await Promise.all(chains.map((chain) => chain.heads()));
    const isWhole = await readFinal(known, heads);
    forgetMessages(known, now());
    try {
      if (isWhole) await show(known, heads);
    } finally {
      await save(known);
    }
  }

  async function show(known: Messages, heads: readonly Heads[]): Promise<void> {
    const ahead = structuredClone(known);
    for (const [index, chain] of chains.entries()) await chain.readAhead(ahead, heads[index] as Heads);
    await readTimes(known, ahead);
    const unsent = Object.values(ahead.byGuid).filter(isUnsent);
    unsentPolls = unsent.length === 0 ? 0 : unsentPolls + 1;
    if (unsentPolls > 0 && unsentPolls <= PATIENT_POLLS) return;
    for (const { guid, sourceEid } of unsent) {
      alarm(guid, `message ${guid} has arrived, and the chain with endpoint id ${sourceEid} did not send it`);
    }
    view = await viewOf(ahead, heads);
  }

  /** The times of blocks are not in events. They are kept with the messages that are final. */
  async function readTimes(known: Messages, ahead: Messages): Promise<void> {
    let left = MAX_LOOK_UPS;
    for (const record of Object.values(ahead.byGuid)) {
      for (const name of ["sent", "waiting", "delivered", "discarded"] as const) {
        const place = record[name];
        if (place === undefined || place.at !== undefined || left === 0) continue;
        left -= 1;
        const eid = name === "sent" ? record.sourceEid : record.destinationEid;
        const block = await chainOf(eid)?.block(place.block);
        if (block === undefined || block === null) continue;
        place.at = block.at;
        const kept = ownValue(known.byGuid, record.guid)?.[name];
        if (kept !== undefined && kept.block === place.block) kept.at = block.at;
      }
    }
  }

  async function viewOf(ahead: Messages, heads: readonly Heads[]): Promise<DollarView> {
    const records = Object.values(ahead.byGuid);
    // Before anything else is awaited: a read that failed meanwhile would be an unhandled rejection.
    const books = await Promise.all(
      secondaries.map((secondary, index) =>
        readSecondaryBooks(
          { primary, secondary },
          { primary: (heads[0] as Heads).latest, secondary: (heads[index + 1] as Heads).latest },
          { records, bookedToken: BigInt(ahead.bookedToken[secondary.eid] ?? 0) },
        ),
      ),
    );
    const shown = records.filter(({ sent }) => sent?.at !== undefined);
    const inTransit = shown.filter((record) => isOpen(record) && record.sent?.isFinal && record.waiting === undefined);
    await lookUpVerified(inTransit);
    return {
      at: now(),
      chains: books,
      messages: shown.flatMap((record) => messageOf(record, verified.has(record.guid)) ?? []),
    };
  }

  /** Those of a poll follow those of the poll before, so that each message has its turn. */
  async function lookUpVerified(inTransit: readonly MessageRecord[]): Promise<void> {
    verified = new Set(inTransit.flatMap(({ guid }) => (verified.has(guid) ? guid : [])));
    const unknown = inTransit.filter(({ guid }) => !verified.has(guid));
    const start = nextLookUp < unknown.length ? nextLookUp : 0;
    const asked = unknown.slice(start, start + MAX_LOOK_UPS);
    nextLookUp = start;
    for (const record of asked) {
      const destination = chainOf(record.destinationEid);
      if (destination !== undefined && (await isVerified(destination, record))) verified.add(record.guid);
      // A verified message leaves the list.
      else nextLookUp += 1;
    }
  }

  function messageOf(record: MessageRecord, isAttested: boolean): BridgeMessage | undefined {
    const { guid, kind, from, to, sent, delivered } = record;
    const source = chainOf(record.sourceEid);
    const destination = chainOf(record.destinationEid);
    if (sent?.at === undefined || source === undefined || destination === undefined) return undefined;
    return {
      ...{ guid, kind, from, to, sourceChainId: source.chainId, destinationChainId: destination.chainId },
      amountToken: BigInt(record.amountToken),
      stage: stageOf(record, isAttested),
      transaction: sent.transaction,
      at: sent.at,
      delivery:
        delivered?.at === undefined
          ? null
          : { block: delivered.block, transaction: delivered.transaction, at: delivered.at },
    };
  }

  function chainOf(eid: number) {
    return chains.find((chain) => chain.eid === eid);
  }

  async function poll(): Promise<void> {
    try {
      await step();
      failingSince = undefined;
    } catch (error) {
      failingSince ??= now();
      // The earlier view stays, with its time.
      if (now() - failingSince < PATIENCE_MS && error instanceof ChainUnavailable) return;
      alarm("waiting", `the dollars of the secondary chains cannot be followed: ${String(error)}`);
    }
  }

  return {
    poll: joined(poll),
    view: () => view,
  };
}

type StoredMessages = { version: typeof VERSION; messages: Messages };
const VERSION = 1;

/** One chain's part of the follower. */
function follow(chain: FollowedChain, { clientOf, confirmations, now }: DollarFollowerOptions) {
  const { chainId, startBlock } = chain;
  const client = clientOf(chain.rpcUrl);
  const sources = sourcesOf(chain);
  const follower = createEventFollower<{ end: Block; events: ChainEvent<Fold>[] }>({
    ...{ client, startBlock, confirmations, maxBlocks: MAX_BLOCKS, now },
    read: async (from, end) => ({ end, events: await readEvents(client, sources, { from, to: end.number }) }),
  });
  let isRight = false;

  async function requireChain(): Promise<void> {
    if (isRight) return;
    const id = await readChainId(client);
    if (id !== chainId) throw new Error(`the node of chain ${chainId} is one of chain ${id}`);
    isRight = true;
  }

  return {
    ...{ ...chain, client },
    block: (number: number) => readBlock(client, number),
    async heads(): Promise<Heads> {
      await requireChain();
      return follower.heads();
    },
    obstacle: ({ cursors }: Messages, heads: Heads) => follower.obstacle(cursors[chainId] ?? null, heads),
    /** False if there is more to read. */
    async readFinal(messages: Messages, heads: Heads): Promise<boolean> {
      for (let ranges = 0; ranges < MAX_RANGES; ranges += 1) {
        const range = await follower.next(messages.cursors[chainId] ?? null, heads);
        if (range === undefined) return true;
        fold(messages, range.events, true);
        messages.cursors[chainId] = { block: range.end.number, blockHash: range.end.hash };
        follower.widen();
      }
      return false;
    },
    async readAhead(messages: Messages, heads: Heads): Promise<void> {
      const range = follower.ahead(heads);
      if (range !== undefined) fold(messages, await readEvents(client, sources, range), false);
    },
  };
}

function fold(messages: Messages, events: readonly ChainEvent<Fold>[], isFinal: boolean): void {
  for (const { args, block, transaction } of events) args(messages, { block, transaction, isFinal } satisfies Place);
}

function stageOf({ sent, waiting, delivered, discarded }: MessageRecord, isAttested: boolean): BridgeMessage["stage"] {
  if (delivered !== undefined) return "delivered";
  if (discarded !== undefined) return "discarded";
  if (waiting !== undefined) return "waiting";
  if (isAttested) return "verified";
  return sent?.isFinal === true ? "sent" : "burned";
}
