import { createHash } from "node:crypto";
import { attoFromPrice } from "./decimal.ts";

export type LimitPeriod = "EPOCH" | "MONTH" | "LIFETIME";
export type KeyType = "INFERENCE" | "ADMIN";

export interface Limits {
  readonly usd: number | null;
  readonly diem: number | null;
  readonly vcu: number | null;
}

export interface Spend {
  usdAtto: bigint;
  diemAtto: bigint;
}

export interface ApiKey {
  readonly id: string;
  readonly secret: string;
  readonly apiKeyType: KeyType;
  description: string;
  readonly createdAt: string;
  expiresAt: string | null;
  lastUsedAtMs: number | null;
  consumptionLimit: Limits;
  limitPeriod: LimitPeriod;
  modelPrivacy: string;
  /** Spend of the current period, and of each of the last days, by UTC date. */
  period: { name: string; spend: Spend };
  readonly days: Map<string, Spend>;
}

export interface NewKey {
  readonly apiKeyType: KeyType;
  readonly description: string;
  readonly expiresAt: string | null;
  readonly consumptionLimit: Limits;
  readonly limitPeriod: LimitPeriod;
  readonly modelPrivacy: string;
}

export interface KeyStore {
  /** The key a header names; null when the header is absent, "bad" when it names no live key. */
  authenticate(authorization: string | undefined): ApiKey | "bad" | null;
  create(wanted: NewKey): ApiKey;
  list(): ApiKey[];
  find(id: string): ApiKey | null;
  remove(id: string): boolean;
  spendOf(key: ApiKey): Spend;
  trailingSevenDays(key: ApiKey): Spend;
  /** The limit that is used up, if one is. */
  exhausted(key: ApiKey): "usd" | "diem" | null;
  spent(key: ApiKey, usdAtto: bigint, diemAtto: bigint): void;
  readonly createdInLastMinute: number;
  reset(): void;
}

export const NO_LIMITS: Limits = { usd: null, diem: null, vcu: null };
export const MASTER_KEY_ID = "key-master";
const DAY_MS = 86_400_000;

export function createKeyStore(options: {
  masterKey: string;
  adminKey: string;
  seed: number;
  now: () => number;
}): KeyStore {
  const { now } = options;
  const bySecret = new Map<string, ApiKey>();
  const byId = new Map<string, ApiKey>();
  let creations: number[] = [];
  let counter = 0;

  const put = (key: ApiKey): ApiKey => {
    bySecret.set(key.secret, key);
    byId.set(key.id, key);
    return key;
  };
  const build = (id: string, secret: string, wanted: NewKey): ApiKey => ({
    ...wanted,
    id,
    secret,
    createdAt: new Date(now()).toISOString(),
    lastUsedAtMs: null,
    period: { name: "", spend: { usdAtto: 0n, diemAtto: 0n } },
    days: new Map(),
  });
  const seedKeys = (): void => {
    const unlimited = {
      consumptionLimit: NO_LIMITS,
      expiresAt: null,
      limitPeriod: "LIFETIME",
      modelPrivacy: "ALL",
    } as const;
    put(build(MASTER_KEY_ID, options.masterKey, { ...unlimited, apiKeyType: "INFERENCE", description: "master" }));
    put(build("key-admin", options.adminKey, { ...unlimited, apiKeyType: "ADMIN", description: "admin" }));
  };
  seedKeys();

  const spendOf = (key: ApiKey): Spend => {
    const name = periodName(key.limitPeriod, now());
    if (key.period.name !== name) key.period = { name, spend: { usdAtto: 0n, diemAtto: 0n } };
    return key.period.spend;
  };

  return {
    authenticate(authorization) {
      if (authorization === undefined) return null;
      const match = /^Bearer +(\S+)$/i.exec(authorization);
      const key = bySecret.get(match?.[1] ?? "");
      if (key === undefined || (key.expiresAt !== null && Date.parse(key.expiresAt) <= now())) return "bad";
      key.lastUsedAtMs = now();
      return key;
    },
    create(wanted) {
      counter += 1;
      const digest = createHash("sha256").update(`${options.seed}:key:${counter}`).digest("hex");
      creations = [...creations.filter((time) => time > now() - 60_000), now()];
      return put(build(`key-${digest.slice(40, 56)}`, `SIM_${wanted.apiKeyType}_KEY_${digest.slice(0, 40)}`, wanted));
    },
    list: () => [...byId.values()],
    find: (id) => byId.get(id) ?? null,
    remove(id) {
      const key = byId.get(id);
      if (key === undefined) return false;
      bySecret.delete(key.secret);
      return byId.delete(id);
    },
    spendOf,
    trailingSevenDays(key) {
      const sum = { usdAtto: 0n, diemAtto: 0n };
      const oldest = dayName(now() - 6 * DAY_MS);
      for (const [day, spend] of key.days) {
        if (day < oldest) key.days.delete(day);
        else addTo(sum, spend.usdAtto, spend.diemAtto);
      }
      return sum;
    },
    exhausted(key) {
      const { usd, diem } = key.consumptionLimit;
      if (usd === null && diem === null) return null;
      const spend = spendOf(key);
      if (usd !== null && spend.usdAtto >= attoFromPrice(String(usd))) return "usd";
      return diem !== null && spend.diemAtto >= attoFromPrice(String(diem)) ? "diem" : null;
    },
    spent(key, usdAtto, diemAtto) {
      addTo(spendOf(key), usdAtto, diemAtto);
      const day = dayName(now());
      const today = key.days.get(day);
      if (today === undefined) key.days.set(day, { usdAtto, diemAtto });
      else addTo(today, usdAtto, diemAtto);
    },
    get createdInLastMinute() {
      return creations.filter((time) => time > now() - 60_000).length;
    },
    reset() {
      bySecret.clear();
      byId.clear();
      creations = [];
      counter = 0;
      seedKeys();
    },
  };
}

export function addTo(spend: Spend, usdAtto: bigint, diemAtto: bigint): void {
  spend.usdAtto += usdAtto;
  spend.diemAtto += diemAtto;
}

/** The UTC date. */
export function dayName(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}

/** An epoch is a UTC day; a month starts at 00:00 UTC on the first; a lifetime never ends. */
function periodName(period: LimitPeriod, timeMs: number): string {
  if (period === "LIFETIME") return "lifetime";
  return period === "EPOCH" ? dayName(timeMs) : dayName(timeMs).slice(0, 7);
}
