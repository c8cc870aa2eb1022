import type { OfferName } from "@inference/ledger/commands";
import { MAX_AGENTS_TRIED } from "@inference/ledger/limits";
import { agentPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import type { OfferRow } from "@inference/ledger/tables";
import { type Address, lowerAddress } from "@inference/protocol/credential";
import type { NanoUsd } from "@inference/protocol/money";
import { STANDING_DAY } from "@inference/protocol/offer";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import type { Spender } from "../auth/spender.ts";
import { type GatewayConfig, limits } from "../config.ts";
import type { Environment } from "../environment.ts";
import { BoundedMap } from "../load/bounded-map.ts";
import type { Semaphore } from "../load/semaphore.ts";
import { makeSingleFlight } from "../load/single-flight.ts";
import type { KeyRecords } from "../upstream/key-records.ts";

/**
 * The offers that are open now, as this process knows them. It is a small list in memory, so that a request waits
 * neither for a chain nor for the list. A stale entry costs a refusal of the agent's identity, which decides.
 *
 * The key-value store has the names of agents that sell (`offer:{agentToken}`). In the background, at most once a
 * minute and after midnight, each agent's offer is read from its partition, and its owner, its computer and its
 * capacity from the chain. That also sets the day's capacity, and ends the offer of an agent that was sold or whose
 * computer was replaced.
 */
export type OpenOffers = {
  /** The offers that may serve a request of this cost, largest unsold share first, at most `MAX_AGENTS_TRIED`. */
  choose(amountNanoUsd: NanoUsd, atMs: number): OpenOffer[];
  /** These were asked in their order, until one took the request; null if none did. */
  asked(offers: readonly OpenOffer[], taken: OpenOffer | null, amountNanoUsd: NanoUsd): void;
  /** A request that an agent served has ended, and this is what it held and did not use. */
  ended(offer: OpenOffer, unusedNanoUsd: NanoUsd): void;
  /** The agent's key failed, and was the cause. The agent is not asked for a minute. */
  failed(offer: OpenOffer): void;
  /** An agent's offer was set or withdrawn: lists it as its partition says. Never throws. */
  changed(agent: Address): Promise<void>;
  /** Reads all offers again. Never throws. */
  refresh(): Promise<void>;
};

export type OpenOffer = OfferName & {
  spender: Spender;
  /** The agent's key at the provider. */
  upstreamKey: string;
  limitNanoUsd: NanoUsd;
  /** The rest of the offer, as far as this process knows. */
  leftNanoUsd: NanoUsd;
  /** The UTC day that it was read for, and when. */
  day: string;
  readAt: number;
};

/** Offers that a process lists and reads at a time. On a Worker reading them must fit into the calls of one request. */
const MAX_OFFERS = 64;
/** Names of agents that it looks at, and how many of those that are not listed at least are read at a time. */
const MAX_NAMES = 1_000;
const OTHERS_IN_TURN = 16;
const READ_AT_ONCE = 4;
/** How long an agent whose key failed is not asked. */
const REST_MS = 60_000;
const PREFIX = "offer:";

export function makeOpenOffers(
  { upstream }: Pick<GatewayConfig, "upstream">,
  environment: Environment,
  { keyRecords, chainReads }: { keyRecords: Pick<KeyRecords, "keyFor">; chainReads: Semaphore },
): OpenOffers {
  const { background, chain, clock, keyValue, ledger, log } = environment;
  const once = makeSingleFlight<void>(environment);
  const resting = new BoundedMap<Address, number>(MAX_OFFERS);
  let open = new Map<Address, OpenOffer>();
  let refreshedAt = 0;
  let lastInTurn = "";

  /** Undefined if the agent sells nothing now. */
  async function read(agent: Address): Promise<OpenOffer | undefined> {
    const at = clock.now();
    const partition = agentPartition(agent);
    const { last, isInForce } = await ledger.read(partition, { type: "offer", at });
    if (last === null || !isInForce) {
      await forget(agent);
      return undefined;
    }
    const seller = await chainReads(() => chain.agentSeller(agent));
    const owner = seller === null ? null : lowerAddress(seller.owner);
    const computer = seller?.computer == null ? null : lowerAddress(seller.computer);
    if (owner === null || owner !== last.owner || computer !== last.computer) {
      await end(agent, last, owner === last.owner ? "its computer was replaced" : "the agent has another owner");
      return undefined;
    }
    const spender = { address: owner, agentToken: agent };
    const upstreamKey = await keyRecords.keyFor(spender, at, undefined);
    // An agent without capacity has no own key, and its requests would use the master key.
    if (upstreamKey === upstream.apiKey) return undefined;
    const { limitNanoUsd, leftNanoUsd } = await ledger.read(partition, { type: "offer", at });
    const terms = { limitNanoUsd, leftNanoUsd, day: utcDay(at), readAt: at };
    return { agent, offer: last.hash, spender, upstreamKey, ...terms };
  }

  /** Deletes the name of an agent without an offer in force: a list has few places. */
  async function forget(agent: Address): Promise<void> {
    await keyValue.delete(PREFIX + agent);
    // An offer that was set in between has its name again.
    const { last, isInForce } = await ledger.read(agentPartition(agent), { type: "offer", at: clock.now() });
    if (last === null || !isInForce) return;
    const { key, options } = offerName(agent, last.day);
    await keyValue.put(key, "", options);
  }

  async function end(agent: Address, { hash }: OfferRow, why: string): Promise<void> {
    await ledger.run(() => send(agentPartition(agent), { type: "endOffer", at: clock.now(), hash }));
    log("info", "offer_ended", { agent, offer: hash, why });
    await keyValue.delete(PREFIX + agent);
  }

  /** If the read fails, an offer stays listed while its capacity would serve: see `KeyRecords`. */
  async function readOrKeep(agent: Address): Promise<OpenOffer | undefined> {
    try {
      return await read(agent);
    } catch (error) {
      log("warn", "offer_unread", { agent, error: String(error) });
      return open.get(agent);
    }
  }

  /**
   * Reads the offers that are listed, the longest unread first, and some of the other names in turn: anybody can make
   * agents with offers and nothing to sell, and they must not keep others out.
   */
  async function readAll(): Promise<void> {
    refreshedAt = clock.now();
    const names = (await keyValue.list(PREFIX, MAX_NAMES)).map((name) => name.slice(PREFIX.length) as Address);
    const known = new Set(names);
    const listed = names.flatMap((agent) => open.get(agent) ?? []).sort((one, other) => one.readAt - other.readAt);
    const again = listed.slice(0, MAX_OFFERS - OTHERS_IN_TURN).map(({ agent }) => agent);
    const others = names.filter((agent) => !open.has(agent));
    const inTurn = [...others.filter((agent) => agent > lastInTurn), ...others].slice(0, MAX_OFFERS - again.length);
    lastInTurn = inTurn.at(-1) ?? "";
    const waiting = new Set([...again, ...inTurn]).values();
    const found = new Map([...open].filter(([agent]) => known.has(agent)));
    async function work(): Promise<void> {
      for (const agent of waiting) {
        const offer = await readOrKeep(agent);
        if (offer === undefined) found.delete(agent);
        else found.set(agent, offer);
      }
    }
    await Promise.all(Array.from({ length: READ_AT_ONCE }, work));
    const largest = [...found].sort(([, one], [, other]) => other.leftNanoUsd - one.leftNanoUsd);
    open = new Map(largest.slice(0, MAX_OFFERS));
  }

  async function refresh(): Promise<void> {
    if (upstream.adminKey === null) return;
    await once("all", () =>
      readAll().catch((error: unknown) => log("warn", "offer_unread", { agent: null, error: String(error) })),
    );
  }

  return {
    refresh,
    choose(amountNanoUsd, atMs) {
      // A free request pays nobody.
      if (upstream.adminKey === null || amountNanoUsd === 0) return [];
      const now = clock.now();
      const isIn = (since: number, forMs: number): boolean => now >= since && now - since < forMs;
      const today = utcDay(now);
      if (!isIn(refreshedAt, limits.capacityFreshMs) || utcDay(refreshedAt) < today) background(refresh());
      // A request of yesterday is held in yesterday's budgets, and nothing of those is sold.
      if (utcDay(atMs) !== today) return [];
      return [...open.values()]
        .filter(({ day, readAt }) => day === today && isIn(readAt, limits.capacityServesMs))
        .filter(({ agent, leftNanoUsd }) => leftNanoUsd >= amountNanoUsd && now >= (resting.get(agent) ?? now))
        .sort((one, other) => unsold(other) - unsold(one))
        .slice(0, MAX_AGENTS_TRIED);
    },
    asked(offers, taken, amountNanoUsd) {
      for (const offer of offers) {
        if (offer === taken) {
          offer.leftNanoUsd -= amountNanoUsd;
          return;
        }
        // Others have sold it, or it is over: the next refresh tells.
        offer.leftNanoUsd = 0;
      }
    },
    ended(offer, unusedNanoUsd) {
      // A list that was read in between has counted the hold: it has too little until it is read again.
      offer.leftNanoUsd += unusedNanoUsd;
    },
    failed({ agent }) {
      resting.set(agent, clock.now() + REST_MS);
    },
    async changed(agent) {
      const offer = await readOrKeep(agent);
      if (offer === undefined) open.delete(agent);
      else if (open.has(agent) || open.size < MAX_OFFERS) open.set(agent, offer);
    },
  };
}

/** For the order only. */
function unsold({ leftNanoUsd, limitNanoUsd }: OpenOffer): number {
  return leftNanoUsd / Math.max(1, limitNanoUsd);
}

/** The name in the key-value store by which an agent's offer is found, and until when. */
export function offerName(agent: Address, day: number): { key: string; options: { expiresAt?: number } } {
  return { key: PREFIX + agent, options: day === STANDING_DAY ? {} : { expiresAt: (day + 1) * DAY_MS } };
}
