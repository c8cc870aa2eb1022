import { createHash } from "node:crypto";
import { attoFromPrice } from "./decimal.ts";

export interface Limits {
  readonly usd: number | null;
  readonly diem: number | null;
}

export interface Spend {
  usdAtto: bigint;
  diemAtto: bigint;
}

export interface NewKey {
  readonly description: string;
  readonly expiresAt: string | null;
  /** For each UTC day. */
  readonly consumptionLimit: Limits;
}

export interface ApiKey extends NewKey {
  readonly id: string;
  readonly secret: string;
  readonly isAdmin: boolean;
  consumptionLimit: Limits;
  /** The UTC date of the last use, and the spend on it. */
  today: { day: string; spend: Spend };
}

export interface KeyStore {
  /** The key of a header; null when the header is absent, "bad" when its key is unknown or expired. */
  authenticate(authorization: string | undefined): ApiKey | "bad" | null;
  create(wanted: NewKey): ApiKey;
  list(): ApiKey[];
  find(id: string): ApiKey | null;
  remove(id: string): boolean;
  /** The limit that is used up; null if none is. */
  exhausted(key: ApiKey): "usd" | "diem" | null;
  spent(key: ApiKey, spend: Spend): void;
  readonly createdInLastMinute: number;
  reset(): void;
}

export const NO_LIMITS: Limits = { usd: null, diem: null };

export function createKeyStore(options: {
  masterKey: string;
  adminKey: string;
  seed: number;
  now: () => number;
}): KeyStore {
  const { now } = options;
  const byId = new Map<string, ApiKey>();
  let creations: number[] = [];
  let counter = 0;

  const put = (id: string, secret: string, wanted: NewKey): ApiKey => {
    const today = { day: "", spend: { usdAtto: 0n, diemAtto: 0n } };
    const key = { ...wanted, id, secret, isAdmin: id === "key-admin", today };
    byId.set(id, key);
    return key;
  };
  const seedKeys = (): void => {
    const unlimited = { consumptionLimit: NO_LIMITS, expiresAt: null };
    put("key-master", options.masterKey, { ...unlimited, description: "master" });
    put("key-admin", options.adminKey, { ...unlimited, description: "admin" });
  };
  seedKeys();

  const spendOf = (key: ApiKey): Spend => {
    const day = dayName(now());
    if (key.today.day !== day) key.today = { day, spend: { usdAtto: 0n, diemAtto: 0n } };
    return key.today.spend;
  };

  return {
    authenticate(authorization) {
      if (authorization === undefined) return null;
      const secret = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
      // A start may give one secret to both keys; the later one, of the administrator, wins.
      const key = [...byId.values()].findLast((each) => each.secret === secret);
      return key === undefined || (key.expiresAt !== null && Date.parse(key.expiresAt) <= now()) ? "bad" : key;
    },
    create(wanted) {
      counter += 1;
      const digest = createHash("sha256").update(`${options.seed}:key:${counter}`).digest("hex");
      creations = [...creations.filter((time) => time > now() - 60_000), now()];
      return put(`key-${digest.slice(40, 56)}`, `SIM_INFERENCE_KEY_${digest.slice(0, 40)}`, wanted);
    },
    list: () => [...byId.values()],
    find: (id) => byId.get(id) ?? null,
    remove: (id) => byId.delete(id),
    exhausted(key) {
      const { usd, diem } = key.consumptionLimit;
      const { usdAtto, diemAtto } = spendOf(key);
      if (usd !== null && usdAtto >= attoFromPrice(String(usd))) return "usd";
      return diem !== null && diemAtto >= attoFromPrice(String(diem)) ? "diem" : null;
    },
    spent: (key, spend) => addTo(spendOf(key), spend),
    get createdInLastMinute() {
      return creations.filter((time) => time > now() - 60_000).length;
    },
    reset() {
      byId.clear();
      creations = [];
      counter = 0;
      seedKeys();
    },
  };
}

export function addTo(sum: Spend, { usdAtto, diemAtto }: Spend): void {
  sum.usdAtto += usdAtto;
  sum.diemAtto += diemAtto;
}

/** The UTC date. */
export function dayName(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}
