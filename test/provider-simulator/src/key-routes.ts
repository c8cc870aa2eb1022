import { NOT_FOUND, plainError, WireError } from "./errors.ts";
import { type Exchange, sendJson } from "./exchange.ts";
import { type Limits, NO_LIMITS } from "./keys.ts";
import * as is from "./validate.ts";

const MAX_CREATED_A_MINUTE = 20;

const expiry: is.Check = (value) =>
  typeof value === "string" && !Number.isNaN(Date.parse(value)) ? null : "Invalid date";
const limits: is.Check = (value) => {
  if (!is.isObject(value)) return "Expected object";
  for (const [name, limit] of Object.entries(value)) {
    if (name !== "usd" && name !== "diem") return `Unrecognized key(s) in object: '${name}'`;
    if (typeof limit !== "number" || !(limit >= 0) || limit > 1e12) return `Invalid limit: ${name}`;
  }
  return null;
};

const LIMIT = [
  ["consumptionLimit", limits],
  ["limitPeriod", is.oneOf("EPOCH")],
] as const;
const CREATE: is.Schema = new Map<string, is.Check>([
  ["apiKeyType", is.oneOf("INFERENCE")],
  ["description", is.textOf(0, 64)],
  ["expiresAt", expiry],
  ...LIMIT,
]);
const PATCH: is.Schema = new Map<string, is.Check>([["id", is.string], ...LIMIT]);

/** `POST /api_keys`. The secret is in this answer only. */
export function createKey(x: Exchange, body: is.Body): void {
  is.checkBody(body, CREATE, ["apiKeyType", "description"]);
  const { keys } = x.sim;
  if (keys.createdInLastMinute >= MAX_CREATED_A_MINUTE) throw new WireError(plainError(429, "Rate limit exceeded"));
  const { id, secret } = keys.create({
    description: is.stringField(body, "description") ?? "",
    expiresAt: is.stringField(body, "expiresAt"),
    consumptionLimit: readLimits(body.consumptionLimit),
  });
  sendJson(x, JSON.stringify({ success: true, data: { id, apiKey: secret } }));
}

/** `PATCH /api_keys`. */
export function patchKey(x: Exchange, body: is.Body): void {
  is.checkBody(body, PATCH, ["id", "consumptionLimit"]);
  const key = x.sim.keys.find(is.stringField(body, "id") ?? "");
  if (key === null) throw new WireError(NOT_FOUND);
  key.consumptionLimit = readLimits(body.consumptionLimit);
  sendJson(x, JSON.stringify({ success: true, data: { id: key.id } }));
}

function readLimits(value: unknown): Limits {
  if (!is.isObject(value)) return NO_LIMITS;
  return { usd: is.numberField(value, "usd"), diem: is.numberField(value, "diem") };
}
