import { smaller, usdFixed, usdFromAtto } from "./decimal.ts";
import { NOT_FOUND, paymentDiscovery, plainError, schemaError, WireError } from "./errors.ts";
import { type Exchange, sendJson } from "./exchange.ts";
import { type ApiKey, type Limits, NO_LIMITS } from "./keys.ts";
import * as is from "./validate.ts";
import { BASE_PATH } from "./wire.ts";

const MAX_ACTIVE_KEYS = 500;
const MAX_CREATED_A_MINUTE = 20;
const DAY_MS = 86_400_000;

const expiry: is.Check = (value) =>
  value === "" || value === null || (typeof value === "string" && !Number.isNaN(Date.parse(value)))
    ? null
    : "Invalid date";
const limits: is.Check = (value) => {
  if (!is.isObject(value)) return "Expected object";
  for (const [name, limit] of Object.entries(value)) {
    if (!["usd", "diem", "vcu"].includes(name)) return `Unrecognized key(s) in object: '${name}'`;
    if (limit !== null && (typeof limit !== "number" || !(limit >= 0) || limit > 1e12)) return `Invalid limit: ${name}`;
  }
  return null;
};

const TERMS = new Map<string, is.Check>([
  ["description", is.textOf(0, 64)],
  ["expiresAt", expiry],
  ["consumptionLimit", limits],
  ["limitPeriod", is.oneOf("EPOCH", "MONTH", "LIFETIME")],
  ["modelPrivacy", is.oneOf("ALL", "PRIVATE_TEXT", "PRIVATE_ONLY")],
]);
const CREATE: is.Schema = new Map([["apiKeyType", is.oneOf("INFERENCE", "ADMIN")], ...TERMS]);
const PATCH: is.Schema = new Map([["id", is.string], ...TERMS]);

/** `POST /api_keys`. The secret is in this answer and in no other. */
export function createKey(x: Exchange, body: is.Body): void {
  is.checkBody(body, CREATE, ["apiKeyType", "description"]);
  const { keys } = x.sim;
  if (keys.list().length >= MAX_ACTIVE_KEYS) throw new WireError(plainError(400, "Too many active API keys"));
  if (keys.createdInLastMinute >= MAX_CREATED_A_MINUTE) throw new WireError(plainError(429, "Rate limit exceeded"));
  const key = keys.create({
    apiKeyType: body.apiKeyType === "ADMIN" ? "ADMIN" : "INFERENCE",
    description: is.stringField(body, "description") ?? "",
    expiresAt: is.stringField(body, "expiresAt") || null,
    consumptionLimit: readLimits(body.consumptionLimit),
    limitPeriod: periodOf(body, "EPOCH"),
    modelPrivacy: is.stringField(body, "modelPrivacy") ?? "ALL",
  });
  const { id, apiKeyType, description, expiresAt, consumptionLimit, limitPeriod, modelPrivacy } = key;
  const data = {
    id,
    apiKey: key.secret,
    apiKeyType,
    description,
    expiresAt,
    consumptionLimit,
    limitPeriod,
    modelPrivacy,
  };
  sendJson(x, JSON.stringify({ success: true, data }));
}

export function patchKey(x: Exchange, body: is.Body): void {
  is.checkBody(body, PATCH, ["id"]);
  const key = x.sim.keys.find(is.stringField(body, "id") ?? "");
  if (key === null) throw new WireError(NOT_FOUND);
  key.description = is.stringField(body, "description") ?? key.description;
  if (body.expiresAt !== undefined) key.expiresAt = is.stringField(body, "expiresAt") || null;
  if (body.consumptionLimit !== undefined) key.consumptionLimit = readLimits(body.consumptionLimit);
  key.limitPeriod = periodOf(body, key.limitPeriod);
  key.modelPrivacy = is.stringField(body, "modelPrivacy") ?? key.modelPrivacy;
  sendJson(x, JSON.stringify({ success: true, data: keyJson(x, key) }));
}

export function listKeys(x: Exchange): void {
  sendJson(x, JSON.stringify({ object: "list", data: x.sim.keys.list().map((key) => keyJson(x, key)) }));
}

export function readKey(x: Exchange, id: string): void {
  const key = x.sim.keys.find(id);
  if (key === null) throw new WireError(NOT_FOUND);
  sendJson(x, JSON.stringify({ data: keyJson(x, key) }));
}

export function deleteKey(x: Exchange): void {
  const id = new URLSearchParams(x.search).get("id");
  if (id === null) throw new WireError(schemaError("id", "Required", "invalid_type"));
  if (!x.sim.keys.remove(id)) throw new WireError(NOT_FOUND);
  sendJson(x, '{"success":true}');
}

/** `GET /api_keys/rate_limits`, for any key. Balances are already cut to what the key may still spend. */
export function rateLimits(x: Exchange): void {
  const { sim, key } = x;
  if (key === null) throw new WireError(paymentDiscovery(BASE_PATH + x.path));
  const spend = sim.keys.spendOf(key);
  const clamp = (balance: bigint, limit: number | null, spent: bigint): number => {
    const left = limit === null ? balance : BigInt(Math.round(limit * 1e6)) * 10n ** 12n - spent;
    return Number(usdFromAtto(smaller(left, balance)));
  };
  const nextEpoch = (Math.floor(sim.now() / DAY_MS) + 1) * DAY_MS;
  const models = ["sim-small", "sim-large", "sim-embedding", "sim-image", "sim-speech"];
  const perMinute = sim.settings.requestsPerMinute ?? 500;
  const data = {
    accessPermitted: sim.ledger.canConsume() && sim.keys.exhausted(key) === null,
    apiTier: { id: "paid", isCharged: true },
    balances: {
      USD: clamp(sim.ledger.usd(), key.consumptionLimit.usd, spend.usdAtto),
      DIEM: clamp(sim.ledger.diem(), key.consumptionLimit.diem, spend.diemAtto),
    },
    keyExpiration: key.expiresAt,
    nextEpochBegins: new Date(nextEpoch).toISOString(),
    rateLimits: models.map((apiModelId) => ({ apiModelId, rateLimits: [{ type: "RPM", amount: perMinute }] })),
  };
  sendJson(x, JSON.stringify({ data }));
}

function readLimits(value: unknown): Limits {
  if (!is.isObject(value)) return NO_LIMITS;
  return { usd: is.numberField(value, "usd"), diem: is.numberField(value, "diem"), vcu: is.numberField(value, "vcu") };
}

function periodOf(body: is.Body, fallback: ApiKey["limitPeriod"]): ApiKey["limitPeriod"] {
  const period = body.limitPeriod;
  return period === "EPOCH" || period === "MONTH" || period === "LIFETIME" ? period : fallback;
}

/** The list says `consumptionLimits`, in the plural, where the request said `consumptionLimit`. */
function keyJson(x: Exchange, key: ApiKey): Record<string, unknown> {
  const week = x.sim.keys.trailingSevenDays(key);
  const current = x.sim.keys.spendOf(key);
  return {
    id: key.id,
    apiKeyType: key.apiKeyType,
    description: key.description,
    createdAt: key.createdAt,
    expiresAt: key.expiresAt,
    lastUsedAt: key.lastUsedAtMs === null ? null : new Date(key.lastUsedAtMs).toISOString(),
    last6Chars: key.secret.slice(-6),
    consumptionLimits: key.consumptionLimit,
    limitPeriod: key.limitPeriod,
    modelPrivacy: key.modelPrivacy,
    usage: { trailingSevenDays: { usd: usdFixed(week.usdAtto, 4), vcu: "0.0000", diem: usdFixed(week.diemAtto, 4) } },
    currentPeriodUsage: { usd: usdFixed(current.usdAtto, 4), diem: usdFixed(current.diemAtto, 4) },
  };
}
