import { fail } from "@inference/protocol/errors";
import { type NanoUsd, parseUsd } from "@inference/protocol/money";
import { limitResets, type Window, windowOfReset } from "@inference/protocol/window";
import * as z from "zod";

/** The terms of a key, which are the query of the resource that its wallet signed. */
export type KeyTerms = { name: string; window: Window; limitNanoUsd: NanoUsd | null; expiresAt: number | null };

const DEFAULT_KEY_NAME = "API key";

/** 1 to 64 visible characters and spaces: no line breaks, and nothing that changes the direction of text. */
export const keyName = z
  .string()
  .regex(/^(?=.*\S)[\p{L}\p{M}\p{N}\p{P}\p{S} ]{1,64}$/u, "a name is 1 to 64 printable characters");

const changedTermNames: readonly string[] = ["limit", "limit_reset", "expires_at"];
const termNames: readonly string[] = ["name", ...changedTermNames];

/** Throws 400 for terms that are unknown, repeated or invalid. */
export function parseKeyTerms(resource: string, atMs: number): KeyTerms {
  const query = readQuery(resource, termNames);
  const limitNanoUsd = parseLimit(query.get("limit"));
  return {
    name: parseName(query.get("name")),
    limitNanoUsd,
    window: parseWindow(query.get("limit_reset"), limitNanoUsd),
    expiresAt: parseExpiry(query.get("expires_at"), atMs),
  };
}

/** `expiresAt` undefined: the message does not name it. */
export type ChangedTerms = Pick<KeyTerms, "window" | "limitNanoUsd"> & { expiresAt?: number | null };

/**
 * The terms that a signed message changes. The limit is required, `none` for no limit, so that nobody removes it by
 * leaving it out. The expiry stays unless it is named. The name is changed without a signature. Throws as
 * `parseKeyTerms` does.
 */
export function parseChangedTerms(resource: string, atMs: number): ChangedTerms {
  const query = readQuery(resource, changedTermNames);
  const limit =
    query.get("limit") ?? refuse("limit", "is missing: name the new limit, like limit=20.00, or limit=none");
  const limitNanoUsd = limit === NONE ? null : parseLimit(limit);
  const window = parseWindow(query.get("limit_reset"), limitNanoUsd);
  const expiry = query.get("expires_at");
  if (expiry === null) return { limitNanoUsd, window };
  return { limitNanoUsd, window, expiresAt: expiry === NONE ? null : parseExpiry(expiry, atMs) };
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

function parseLimit(text: string | null): NanoUsd | null {
  if (text === null) return null;
  return parseUsd(text) ?? refuse("limit", "must be an amount in USD, like 5.00, of at most nine decimal places");
}

function parseWindow(text: string | null, limitNanoUsd: NanoUsd | null): Window {
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
