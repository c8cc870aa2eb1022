import { identityPartition } from "@inference/ledger/partition";
import { type Saga, send } from "@inference/ledger/saga";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { fail, GatewayError } from "@inference/protocol/errors";
import type { NanoUsd } from "@inference/protocol/money";
import { DAY_MS, utcDay, windowStart } from "@inference/protocol/window";
import type { Credentials } from "../auth/credentials.ts";
import { type Spender, spenderPartition } from "../auth/spender.ts";
import { type GatewayConfig, limits } from "../config.ts";
import type { Environment } from "../environment.ts";
import type { Semaphore } from "../load/semaphore.ts";
import { makeSingleFlight } from "../load/single-flight.ts";
import { type KeyRecord, makeKeyRecordStore } from "./key-record-store.ts";
import type { Sealer } from "./sealer.ts";
import { makeSubKeys } from "./sub-keys.ts";

/** The upstream key records, and through them the capacity of identities. */
export type KeyRecords = {
  /**
   * The upstream key for a spender's request. Its limit and the identity's budget are the capacity of the request's
   * day, read from the chain within the last minute, or within the last ten if the chain does not answer.
   *
   * Throws `ChainUnavailable` if neither is known, 503 `overloaded` if too many reads of the chain are in progress, in
   * all or for this client, and `upstream_unavailable` if the provider made no key.
   */
  keyFor(spender: Spender, atMs: number, client: string | undefined): Promise<string>;
  /** Sets the identity's budget to a capacity that is at most ten minutes old, to show it. Throws as `keyFor` does. */
  requireCapacity(spender: Spender, atMs: number, client: string | undefined): Promise<void>;
  /** The provider refused the key. The next request asks whether it still exists, and creates another one if not. */
  invalidate(spender: Spender): Promise<void>;
};

/** A record with the text of its key. */
type OpenRecord = { record: KeyRecord; key: string };

/** Keys expire, so that one whose record was lost does not stay at the provider forever. */
const SUB_KEY_MS = 30 * DAY_MS;
const RENEW_BEFORE_MS = DAY_MS;

export function makeKeyRecords(
  config: GatewayConfig,
  environment: Environment,
  { credentials, chainReads, sealer }: { credentials: Credentials; chainReads: Semaphore; sealer: Sealer },
): KeyRecords {
  const { chain, clock, ledger, log } = environment;
  const { apiKey, adminKey } = config.upstream;
  const subKeys = adminKey === null ? null : makeSubKeys(config.upstream, adminKey, environment);
  const once = makeSingleFlight<OpenRecord>(environment);
  const store = makeKeyRecordStore(environment);

  /** Undefined also if the record's key cannot be decrypted any more. */
  async function read(name: string): Promise<OpenRecord | undefined> {
    const record = await store.get(name).catch((error: unknown) => {
      log("alert", "key_record", { error: String(error) });
      // It is unknown whether the identity has a key at the provider.
      return subKeys === null ? undefined : noKey();
    });
    return record === undefined ? undefined : open(name, record);
  }

  function open(name: string, record: KeyRecord): OpenRecord | undefined {
    if (subKeys === null || record.upstreamKey === "master") return { record, key: apiKey };
    const secret = sealer.open(name, Buffer.from(record.upstreamKey.sealed, "base64"));
    return secret === undefined ? undefined : { record, key: secret.toString() };
  }

  /** Reads the capacity, and makes it the limit of the identity's budget and of its upstream key. */
  async function sync(
    spender: Spender,
    { name, requestDay, client }: { name: string; requestDay: string; client: string | undefined },
  ): Promise<OpenRecord> {
    // Read again: another request may have synced it since.
    const known = await read(name);
    if (known !== undefined && isFresh(known.record, requestDay)) return known;
    const identity = addressOf(spender);
    const readAt = clock.now();
    const { capacityNanoUsd: pooledNanoUsd, at } = await chainReads(() => chain.capacityToday(identity), client);
    const day = utcDay(at);
    // Before the first block of a day the chain answers for the day before, and its clock may be ahead of ours.
    if (day !== utcDay(readAt)) throw new ChainUnavailable(`the chain's latest block is of ${day}`);
    const isTaken = known?.record.day === day && known.record.capacityNanoUsd > 0;
    const capacityNanoUsd = await ledger.run(() => setCapacity(spender, { at, limitNanoUsd: pooledNanoUsd, isTaken }));
    const upstreamKey = await syncSubKey(spender, name, known?.record.upstreamKey, capacityNanoUsd);
    const record: KeyRecord = { upstreamKey, capacityNanoUsd, day, readAt };
    store.put(name, record);
    const opened = open(name, record);
    if (opened === undefined) throw new Error(`the key in ${name} does not open`);
    return opened;
  }

  async function syncSubKey(
    spender: Spender,
    name: string,
    last: KeyRecord["upstreamKey"] | undefined,
    limitNanoUsd: NanoUsd,
  ): Promise<KeyRecord["upstreamKey"]> {
    if (subKeys === null) return "master";
    const known = last === "master" ? undefined : last;
    try {
      if (known !== undefined && known.expiresAt - clock.now() > RENEW_BEFORE_MS) {
        if (known.limitNanoUsd === limitNanoUsd) return known;
        if (await subKeys.limit(known.id, limitNanoUsd)) return { ...known, limitNanoUsd };
      }
      // An identity without capacity needs no key, and anyone can sign in.
      if (limitNanoUsd === 0) return "master";
      const expiresAt = clock.now() + SUB_KEY_MS;
      const description = `gateway ${credentials.pseudonym(spenderPartition(spender))}`;
      const { id, secret } = await subKeys.create({ description, limitNanoUsd, expiresAt });
      return { id, sealed: sealer.seal(name, Buffer.from(secret)).toString("base64"), limitNanoUsd, expiresAt };
    } catch (error) {
      log("alert", "sub_key", { error: String(error) });
      // A key with another limit can still be used, because the ledger enforces the budget.
      if (known !== undefined && known.expiresAt > clock.now()) return known;
      return noKey();
    }
  }

  function isFresh(record: KeyRecord, day: string): boolean {
    const isDoubted = record.upstreamKey !== "master" && record.upstreamKey.limitNanoUsd === null;
    return isYounger(record, day, limits.capacityFreshMs) && !isDoubted;
  }

  function isYounger(record: KeyRecord, day: string, mostMs: number): boolean {
    const age = clock.now() - record.readAt;
    return record.day === day && age >= 0 && age < mostMs;
  }

  async function keyFor(spender: Spender, atMs: number, client: string | undefined): Promise<string> {
    const name = recordName(spender);
    const day = utcDay(atMs);
    const known = await read(name);
    if (known !== undefined && isFresh(known.record, day)) return known.key;
    try {
      const { record, key } = await once(name, () => sync(spender, { name, requestDay: day, client }));
      if (record.day === day) return key;
      throw new ChainUnavailable(`the chain's latest block is of ${record.day}`);
    } catch (error) {
      const serves = known !== undefined && isYounger(known.record, day, limits.capacityServesMs);
      if (serves && isUnread(error)) return known.key;
      throw error;
    }
  }

  return {
    keyFor,
    async requireCapacity(spender, atMs, client) {
      const known = await read(recordName(spender));
      if (known !== undefined && isYounger(known.record, utcDay(atMs), limits.capacityServesMs)) return;
      await keyFor(spender, atMs, client);
    },
    async invalidate(spender) {
      const name = recordName(spender);
      const known = await read(name);
      const key = known?.record.upstreamKey;
      if (known === undefined || key === undefined || key === "master") return;
      store.put(name, { ...known.record, upstreamKey: { ...key, limitNanoUsd: null } });
    },
  };
}

function noKey(): never {
  const message = "This identity has no key at the provider at the moment. Retry in a few seconds.";
  return fail("upstream_unavailable", `${message} Nothing was charged.`, { retryAfterS: 5 });
}

/** Whether the chain did not answer, or was not asked. */
function isUnread(error: unknown): boolean {
  return error instanceof ChainUnavailable || (error instanceof GatewayError && error.detail.code === "overloaded");
}

/**
 * Sets an identity's budget to the capacity of its address, and returns it. A wallet and an agent can have the same
 * address: a contract that signs and has an owner. They are two identities, and the capacity of a day belongs to the
 * one that asked first.
 *
 * @param isTaken Whether this identity is known to have it today.
 */
function* setCapacity(
  spender: Spender,
  { at, limitNanoUsd, isTaken }: { at: number; limitNanoUsd: NanoUsd; isTaken: boolean },
): Saga<NanoUsd> {
  let limit = limitNanoUsd;
  if (limit > 0 && !isTaken) {
    const day = windowStart("day", at);
    const { status } = yield* send(identityPartition(addressOf(spender)), {
      type: "consumeNonce",
      at,
      nonce: `capacity:${day}`,
      expiresAt: day + DAY_MS,
      digest: spender.agentToken === null ? "wallet" : "agent",
    });
    if (status === "nonce_used") limit = 0;
  }
  yield* send(spenderPartition(spender), { type: "setCapacity", at, limitNanoUsd: limit });
  return limit;
}

function addressOf({ address, agentToken }: Spender): Address {
  return agentToken ?? address;
}

function recordName({ address, agentToken }: Spender): string {
  return agentToken === null ? `vkey:${address}` : `vkey:agent:${agentToken}`;
}
