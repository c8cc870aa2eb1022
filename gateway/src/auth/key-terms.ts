import { fail } from "@inference/protocol/errors";
import {
  type KeyLimit,
  type KeyLimitName,
  keyLimitKinds,
  keyLimitNames,
  type LimitUnit,
  makeKeyLimit,
} from "@inference/protocol/key-limit";
import { MODEL_PATTERN } from "@inference/protocol/model-pattern";
import { type NanoUsd, parseUsd } from "@inference/protocol/money";
import { type DollarWindow, limitResets, windowOfReset } from "@inference/protocol/window";
import * as z from "zod";

/** The terms of a key, which are the query of the resource that its wallet signed. */
export type KeyTerms = {
  name: string;
  /** The limit in dollars that the key shows first, and its window. */
  window: DollarWindow;
  limitNanoUsd: NanoUsd | null;
  limits: readonly KeyLimit[];
  models: readonly string[] | null;
  isPrivate: boolean;
  expiresAt: number | null;
};

const DEFAULT_KEY_NAME = "API key";

/** 1 to 64 visible characters and spaces: no line breaks, and nothing that changes the direction of text. */
export const keyName = z
  .string()
  .regex(/^(?=.*\S)[\p{L}\p{M}\p{N}\p{P}\p{S} ]{1,64}$/u, "a name is 1 to 64 printable characters");

const MAX_MODELS = 32;
/** The most requests or tokens that a limit can name. */
const MAX_COUNT = 1_000_000_000;

export const keyModels = z
  .array(z.string().regex(MODEL_PATTERN, "a model is an id, or the beginning of ids with * at its end"))
  .min(1)
  .max(MAX_MODELS)
  .describe("Ids of models, or beginnings with `*` at the end, like `llama-*`.");
export const keyCount = z.int().min(0).max(MAX_COUNT);

const changedTermNames: readonly string[] = [
  ...["limit", "limit_reset", ...keyLimitNames],
  ...["models", "private", "expires_at"],
];
const termNames: readonly string[] = ["name", ...changedTermNames];

/** Throws 400 for terms that are unknown, repeated or invalid. */
export function parseKeyTerms(resource: string, atMs: number): KeyTerms {
  const query = readQuery(resource, termNames);
  const dollars = parseDollars(query, parseLimit(query.get("limit")));
  return {
    name: parseName(query.get("name")),
    ...firstOf(dollars),
    limits: [...dollars.slice(1), ...parseCounts(query)],
    models: parseModels(query.get("models")),
    isPrivate: parsePrivate(query.get("private")) ?? false,
    expiresAt: parseExpiry(query.get("expires_at"), atMs),
  };
}

/** The terms that change. Those that are undefined stay. */
export type ChangedTerms = Partial<Omit<KeyTerms, "name">> & {
  limits: readonly KeyLimit[];
  /** The units other than dollars whose limits are replaced. */
  units: readonly LimitUnit[];
};

/**
 * The terms that a signed message changes; the others stay. If it names a limit in dollars, the limits in dollars that
 * it does not name end. `none` lifts a term, so that nobody removes one by leaving it out. The name is changed without
 * a signature. Throws as `parseKeyTerms` does.
 */
export function parseChangedTerms(resource: string, atMs: number): ChangedTerms {
  const query = readQuery(resource, changedTermNames);
  if (query.size === 0) refuse("limit", "is missing: name the terms to change, like limit=20.00, or limit=none");
  const limit = query.get("limit");
  const dollars = parseDollars(query, limit === NONE ? null : parseLimit(limit));
  const isDollars = limit !== null || dollars.length > 0;
  const models = query.get("models");
  const expiry = query.get("expires_at");
  const isPrivate = parsePrivate(query.get("private"));
  return {
    ...(isDollars ? firstOf(dollars) : {}),
    limits: [...dollars.slice(1), ...parseCounts(query)],
    units: countNames.filter((name) => query.has(name)).map((name) => keyLimitKinds[name].unit),
    ...(models === null ? {} : { models: models === NONE ? null : parseModels(models) }),
    ...(isPrivate === undefined ? {} : { isPrivate }),
    ...(expiry === null ? {} : { expiresAt: expiry === NONE ? null : parseExpiry(expiry, atMs) }),
  };
}

const NONE = "none";

function readQuery(resource: string, termNames: readonly string[]): URLSearchParams {
  const at = resource.indexOf("?");
  const query = new URLSearchParams(at === -1 ? "" : resource.slice(at + 1));
  for (const param of new Set(query.keys())) {
    if (!termNames.includes(param)) {
      refuse(param.slice(0, 64), `is no term of a key: use ${termNames.join(", ")}`, "unsupported_parameter");
    }
    if (query.getAll(param).length > 1) refuse(param, "is in the resource twice: name it once");
  }
  return query;
}

function parseName(text: string | null): string {
  if (text === null) return DEFAULT_KEY_NAME;
  return keyName.safeParse(text).data ?? refuse("name", "must be 1 to 64 printable characters");
}

/** The limits in dollars, the one that `limit` names first. */
function parseDollars(query: URLSearchParams, limitNanoUsd: NanoUsd | null): KeyLimit[] {
  const window = parseWindow(query.get("limit_reset"), limitNanoUsd);
  const limits: KeyLimit[] = limitNanoUsd === null ? [] : [{ unit: "nano_usd", window, most: limitNanoUsd }];
  for (const name of dollarNames) {
    const most = parseLimit(query.get(name), name);
    if (most === null) continue;
    if (limits.some((limit) => limit.window === keyLimitKinds[name].window)) {
      refuse(name, "is the limit that limit names, too: name it once");
    }
    limits.push(makeKeyLimit(name, most));
  }
  return limits;
}

function firstOf(dollars: readonly KeyLimit[]): Pick<KeyTerms, "window" | "limitNanoUsd"> {
  const [first] = dollars;
  if (first?.unit !== "nano_usd") return { window: "lifetime", limitNanoUsd: null };
  return { window: first.window, limitNanoUsd: first.most };
}

const dollarNames = keyLimitNames.filter((name) => keyLimitKinds[name].unit === "nano_usd");
const countNames = keyLimitNames.filter((name) => !dollarNames.includes(name));

/** The limits on requests and tokens. */
function parseCounts(query: URLSearchParams): KeyLimit[] {
  return countNames.flatMap((name) => {
    const text = query.get(name);
    if (text === null || text === NONE) return [];
    const most = /^\d{1,10}$/.test(text) ? keyCount.safeParse(Number(text)).data : undefined;
    return makeKeyLimit(name, most ?? refuse(name, `must be a whole number of at most ${MAX_COUNT}`));
  });
}

function parseModels(text: string | null): readonly string[] | null {
  if (text === null) return null;
  const what = `must be 1 to ${MAX_MODELS} models with commas between them, like models=gpt-4o,llama-*`;
  return keyModels.safeParse(text.split(",")).data ?? refuse("models", what);
}

function parsePrivate(text: string | null): boolean | undefined {
  if (text === null) return undefined;
  return text === "true" || (text === "false" ? false : refuse("private", "must be true or false"));
}

export function parseLimit(text: string | null, name: "limit" | KeyLimitName = "limit"): NanoUsd | null {
  if (text === null) return null;
  return parseUsd(text) ?? refuse(name, "must be USD like 5.00, of at most nine decimals and below 9,007,199");
}

function parseWindow(text: string | null, limitNanoUsd: NanoUsd | null): DollarWindow {
  if (text === null) return "lifetime";
  if (limitNanoUsd === null) refuse("limit_reset", "needs a limit beside it: add limit, or leave limit_reset out");
  const names = limitResets.join(" or ");
  return (
    windowOfReset(text) ?? refuse("limit_reset", `must be ${names}: leave it out for a limit over the key's lifetime`)
  );
}

function parseExpiry(text: string | null, atMs: number): number | null {
  if (text === null) return null;
  const expiresAt = z.iso.datetime({ offset: true }).safeParse(text).success ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(expiresAt)) {
    refuse("expires_at", "must be an RFC 3339 time, like 2030-01-31T00:00:00Z (a + in it is written %2B)");
  }
  if (expiresAt <= atMs) refuse("expires_at", `must be in the future; it is ${new Date(atMs).toISOString()} here`);
  return expiresAt;
}

function refuse(
  param: string,
  what: string,
  code: "invalid_request" | "unsupported_parameter" = "invalid_request",
): never {
  return fail(code, `\`${param}\` ${what}.`, { param });
}
