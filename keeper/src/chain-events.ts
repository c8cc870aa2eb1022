import type { DatabaseSync } from "node:sqlite";
import type { Cursor } from "@inference/chain/continuity";
import { createEventFollower } from "@inference/chain/event-follower";
import {
  type ChainEvent,
  type EventArgs,
  type EventSource,
  eventSource,
  mapped,
  readEvents,
} from "@inference/chain/events";
import type { ChainClient } from "@inference/chain/rpc";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Abi, Address, ContractEventName } from "viem";
import { createOpenItems, type Json, type OpenItems } from "./open-items.ts";

/**
 * The open items of a chain's events. Events with enough confirmations are read once, and stored in the database while
 * they are open. Later events are read again at each poll and not stored. A reorganization may remove an item's block,
 * so callers read the contract before they act on an item.
 */
export type ChainEvents = {
  /** Follows one kind of event. All kinds are named before the first poll. */
  track<const A extends Abi, const N extends ContractEventName<A>, V extends Json>(
    source: { address: Address; abi: A; eventName: N },
    item: Item<EventArgs<A, N>, V>,
  ): Tracked<V>;
  /** Reads new events. Never throws: {@link Tracked.open} throws the error. */
  poll(): Promise<void>;
};

/** The items that an event opens or changes. */
export type Item<Args, V> = {
  keys(args: Args): Iterable<string>;
  /** The value to store under a key. */
  value(args: Args, block: number, key: string): V;
  /** Merges two events with one key. The default is the later one. */
  merge?(before: V, value: V): V;
};

export type Tracked<V> = {
  /** The open items in chain order. Throws if the last poll failed. */
  open(): ReadonlyMap<string, V>;
  /** Marks items as done. An item that stays done for `confirmations` blocks is deleted. */
  done(keys: Iterable<string>): void;
};

export type ChainEventsOptions = {
  client: ChainClient;
  database: DatabaseSync;
  chainId: number;
  startBlock: number;
  /** The number of confirmations of a final event. */
  confirmations: number;
  now(): number;
  /** Called when final blocks were reorganized. The chain is then read again from the start. */
  onReorganized(reason: string): void;
};

/** Maximum blocks of one request. */
const MAX_BLOCKS = 2_000;

type Items = { get(kind: string, key: string): Json | undefined; put(kind: string, key: string, value: Json): void };
/** Applies an event to the items. */
type Fold = (items: Items, block: number) => void;
type Range = { cursor: Cursor; events: ChainEvent<Fold>[] };

export function createChainEvents(options: ChainEventsOptions): ChainEvents {
  const { client, database, chainId, startBlock, confirmations } = options;
  const sources: EventSource<Fold>[] = [];
  const follower = createEventFollower<Range>({
    ...{ client, startBlock, confirmations, maxBlocks: MAX_BLOCKS, now: options.now },
    read: async (from, { number, hash }) => ({
      cursor: { block: number, blockHash: hash },
      events: await readEvents(client, sources, { from, to: number }),
    }),
  });
  let stored: OpenItems | undefined;
  /** Items of events that are not final. They override the stored ones. */
  let ahead = new Map<string, Map<string, Json>>();
  let head = 0;
  let failure: unknown = new ChainUnavailable("the chain was not read yet");

  /** Created at the first poll, when all kinds of events are known. */
  function items(): OpenItems {
    const named = sources.map(({ address, selector }) => `${address} ${selector}`).sort();
    stored ??= createOpenItems(database, { chainId, sources: JSON.stringify([startBlock, ...named]) });
    return stored;
  }

  async function follow(): Promise<void> {
    const store = items();
    const heads = await follower.heads();
    let cursor = store.cursor();
    const obstacle = await follower.obstacle(cursor, heads);
    if (obstacle?.outcome === "waiting") throw new ChainUnavailable(obstacle.reason);
    if (obstacle !== undefined) options.onReorganized(obstacle.reason);
    if (obstacle !== undefined || cursor === null) store.clear();
    if (obstacle !== undefined) cursor = null;
    for (;;) {
      const range = await follower.next(cursor, heads);
      if (range === undefined) break;
      store.advance(range.cursor, (put) => {
        for (const { args: fold, block } of range.events) fold({ get: store.get, put }, block);
      });
      cursor = range.cursor;
      follower.widen();
    }
    ahead = await lookAhead(store, follower.ahead(heads));
    head = heads.latest.number;
  }

  async function lookAhead(store: OpenItems, range?: { from: number; to: number }): Promise<typeof ahead> {
    const found: typeof ahead = new Map();
    const events = range === undefined ? [] : await readEvents(client, sources, range);
    for (const { args: fold, block } of events) {
      const put = (kind: string, key: string, value: Json) =>
        void found.set(kind, (found.get(kind) ?? new Map<string, Json>()).set(key, value));
      fold({ get: (kind, key) => found.get(kind)?.get(key) ?? store.get(kind, key), put }, block);
    }
    return found;
  }

  return {
    track<const A extends Abi, const N extends ContractEventName<A>, V extends Json>(
      { address, abi, eventName }: { address: Address; abi: A; eventName: N },
      item: Item<EventArgs<A, N>, V>,
    ): Tracked<V> {
      const kind = `${eventName} ${address.toLowerCase()}`;
      const doneSince = new Map<string, number>();
      sources.push(
        mapped(eventSource(address, abi, eventName), (args) => {
          const keys = [...item.keys(args)];
          return ({ get, put }, block) => {
            for (const key of keys) {
              const before = get(kind, key) as V | undefined;
              const value = item.value(args, block, key);
              put(kind, key, before === undefined ? value : (item.merge?.(before, value) ?? value));
            }
          };
        }),
      );
      return {
        open() {
          if (failure !== undefined) throw failure;
          return new Map([...items().all(kind), ...(ahead.get(kind) ?? [])]) as Map<string, V>;
        },
        done(keys) {
          const since = new Map([...keys].map((key) => [key, doneSince.get(key) ?? head]));
          doneSince.clear();
          for (const [key, block] of since) {
            if (ahead.get(kind)?.has(key) || head - block < confirmations) doneSince.set(key, block);
            else items().remove(kind, key);
          }
        },
      };
    },
    async poll() {
      try {
        await follow();
        failure = undefined;
      } catch (error) {
        failure = error;
      }
    },
  };
}
