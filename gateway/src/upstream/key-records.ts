import { identityPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import type { Address } from "@inference/protocol/credential";
import { GatewayError } from "@inference/protocol/errors";
import type { NanoUsd } from "@inference/protocol/money";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import * as z from "zod";
import { type GatewayConfig, limits } from "../config.ts";
import { ChainUnavailable, type Environment, isChainUnavailable } from "../environment.ts";
import type { Credentials } from "../identity/credentials.ts";
import type { Gate } from "../identity/gate.ts";
import { makeShared } from "../identity/shared.ts";
import type { Sealer } from "./sealer.ts";
import { makeSubKeys } from "./sub-keys.ts";

/** Who spends a capacity: a wallet, or the agent whose token it owns. Never both at once. */
export type Spender = { address: Address; agentToken: Address | null };

/** The upstream key records, and through them the capacity of identities. */
export type KeyRecords = {
  /**
   * The upstream key that serves a spender's request. Its limit and the identity's budget are what the chain gave for
   * the request's day: read within the last minute, or, where the chain does not say, within the last ten.
   *
   * Throws `ChainUnavailable` where neither is known, 503 `upstream_unavailable` where the provider made no key.
   */
  keyFor(spender: Spender, atMs: number): Promise<string>;
  /** The provider does not take the key any more: the next request has another made. */
  forget(spender: Spender): Promise<void>;
};

/** A key at the provider: made under the master key for one identity, its secret sealed. */
const subKeySchema = z.object({ id: z.string(), sealed: z.string(), limitNanoUsd: z.int(), expiresAt: z.int() });
const recordSchema = z.object({
  upstreamKey: z.union([z.literal("master"), subKeySchema]),
  capacityNanoUsd: z.int(),
  /** The UTC day that the capacity is of, by the chain's own time. */
  day: z.string(),
  readAt: z.int(),
});
type KeyRecord = z.infer<typeof recordSchema>;
/** A record, and the text of its key. */
type OpenRecord = { record: KeyRecord; key: string };

/** Its key ends by itself, so that one whose record was lost does not stay at the provider for ever. */
const SUB_KEY_MS = 30 * DAY_MS;
const RENEW_BEFORE_MS = DAY_MS;

export function makeKeyRecords(
  config: GatewayConfig,
  environment: Environment,
  { credentials, chainReads, sealer }: { credentials: Credentials; chainReads: Gate; sealer: Sealer },
): KeyRecords {
  const { chain, clock, keyValue, ledger, log } = environment;
  const { apiKey, adminKey } = config.upstream;
  const subKeys = adminKey === null ? null : makeSubKeys(config.upstream, adminKey, environment);
  const shared = makeShared<OpenRecord>(environment);

  /** Undefined also for one whose key cannot be used any more. */
  async function read(name: string): Promise<OpenRecord | undefined> {
    const text = await keyValue.get(name);
    const record = text === null ? undefined : recordSchema.safeParse(JSON.parse(text)).data;
    return record === undefined ? undefined : open(name, record);
  }

  async function open(name: string, record: KeyRecord): Promise<OpenRecord | undefined> {
    if (subKeys === null || record.upstreamKey === "master") return { record, key: apiKey };
    const secret = await sealer.open(name, record.upstreamKey.sealed);
    return secret === undefined ? undefined : { record, key: new TextDecoder().decode(secret) };
  }

  /** Reads the capacity anew, and makes it the limit of the identity's budget and of its upstream key. */
  async function sync(spender: Spender, name: string, known: OpenRecord | undefined): Promise<OpenRecord> {
    const identity = spender.agentToken ?? spender.address;
    const readAt = clock.now();
    const { capacityNanoUsd, at } = await chainReads(() => chain.capacityToday(identity));
    const day = utcDay(at);
    // Until a day's first block the chain still answers for the day before.
    if (day < utcDay(readAt)) throw new ChainUnavailable(`the chain's latest block is of ${day}`);
    await ledger.run(() =>
      send(identityPartition(identity), { type: "setCapacity", at, limitNanoUsd: capacityNanoUsd }),
    );
    const upstreamKey = await syncSubKey(identity, name, known?.record.upstreamKey, capacityNanoUsd);
    const record: KeyRecord = { upstreamKey, capacityNanoUsd, day, readAt };
    const expiresAt = upstreamKey === "master" ? readAt + limits.capacityServesMs : upstreamKey.expiresAt;
    await keyValue.put(name, JSON.stringify(record), { expiresAt });
    const opened = await open(name, record);
    if (opened === undefined) throw new Error(`the key in ${name} does not open`);
    return opened;
  }

  async function syncSubKey(
    identity: Address,
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
      // Who has nothing to spend needs no key, and anybody can sign in.
      if (limitNanoUsd === 0) return "master";
      const expiresAt = clock.now() + SUB_KEY_MS;
      const description = `gateway ${credentials.pseudonym(identityPartition(identity))}`;
      const { id, secret } = await subKeys.create({ description, limitNanoUsd, expiresAt });
      return { id, sealed: await sealer.seal(name, new TextEncoder().encode(secret)), limitNanoUsd, expiresAt };
    } catch (error) {
      log("alert", "sub_key", { error: String(error) });
      // A key with another limit still serves: what may be spent, the ledger decides.
      if (known !== undefined && known.expiresAt > clock.now()) return known;
      const message = "The provider made no key for this identity: try again in a few seconds. Nothing was charged.";
      throw new GatewayError({ code: "upstream_unavailable", message, retryAfterS: 5 });
    }
  }

  return {
    async keyFor(spender, atMs) {
      const name = recordName(spender);
      const known = await read(name);
      const age = clock.now() - (known?.record.readAt ?? 0);
      const isOfDay = known?.record.day === utcDay(atMs) && age >= 0;
      if (isOfDay && age < limits.capacityFreshMs) return known.key;
      try {
        const { record, key } = await shared(name, () => sync(spender, name, known));
        if (record.day === utcDay(atMs)) return key;
        throw new ChainUnavailable(`the chain's latest block is of ${record.day}`);
      } catch (error) {
        if (isOfDay && age < limits.capacityServesMs && isUnread(error)) return known.key;
        throw error;
      }
    },
    forget: (spender) => keyValue.delete(recordName(spender)),
  };
}

/** The chain did not say, or could not be asked. */
function isUnread(error: unknown): boolean {
  return isChainUnavailable(error) || (error instanceof GatewayError && error.detail.code === "overloaded");
}

function recordName({ address, agentToken }: Spender): string {
  return agentToken === null ? `vkey:${address}` : `vkey:agent:${agentToken}`;
}
