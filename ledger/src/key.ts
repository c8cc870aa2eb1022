import { DAY_MS, windowEnd } from "@inference/protocol/window";
import { counterId, counterOf } from "./budget.ts";
import type { Commands, ReplyOf } from "./commands.ts";
import type { Draft } from "./draft.ts";
import { MAX_CLOCK_SKEW_MS, MAX_KEYS_PER_ACCOUNT, OUTCOME_RETENTION_MS, UNPAID_KEY_MS } from "./limits.ts";
import { recountKey } from "./recount-key.ts";
import { spendNonce } from "./session.ts";
import type { KeyRow, ReadRows } from "./tables.ts";

/**
 * An account's API keys. A new secret, and any change of terms but a lower limit, need a signed message, whose nonce is
 * used here.
 */
type CommandOf<T extends keyof Commands> = Commands[T]["command"];

export function createKey(draft: Draft, command: CommandOf<"createKey">): ReplyOf<CommandOf<"createKey">> {
  const account = draft.get("account", "account") ?? { id: "account" as const, keys: 0, createdAt: command.at };
  const existing = draft.get("key", command.keyId);
  if (existing?.nonce === command.nonce && existing.digest === command.digest) return { status: "created" };
  if (existing !== undefined || draft.get("nonce", command.nonce) !== undefined) return { status: "nonce_used" };
  if (account.keys >= MAX_KEYS_PER_ACCOUNT) return { status: "too_many_keys" };

  // After this point the key is made.
  spendNonce(draft, command.nonce, command.nonceExpiresAt);
  const { keyId, digest, label, name, window, limitNanoUsd, expiresAt, nonce } = command;
  draft.put("key", {
    id: keyId,
    name,
    label,
    digest,
    window,
    limitNanoUsd,
    disabled: 0,
    revokedAt: null,
    expiresAt,
    createdAt: command.at,
    nonce,
    unpaidUntil: isPaid(draft) ? null : command.at + UNPAID_KEY_MS,
  });
  draft.put("secret", { id: digest, keyId });
  draft.put("budget", { id: `key:${keyId}`, window, limitNanoUsd });
  draft.put("account", { ...account, keys: account.keys + 1 });
  return { status: "created" };
}

export function updateKey(draft: Draft, command: CommandOf<"updateKey">): ReplyOf<CommandOf<"updateKey">> {
  const key = draft.get("key", command.keyId);
  if (key === undefined || key.revokedAt !== null) return { status: "unknown" };
  const { limitNanoUsd = key.limitNanoUsd } = command;
  const raises =
    limitNanoUsd !== key.limitNanoUsd && key.limitNanoUsd !== null && (limitNanoUsd ?? 0) > key.limitNanoUsd;
  if (raises) return { status: "would_raise" };
  draft.put("key", {
    ...key,
    name: command.name ?? key.name,
    disabled: command.disabled === undefined ? key.disabled : Number(command.disabled),
    limitNanoUsd,
  });
  draft.put("budget", { id: `key:${key.id}`, window: key.window, limitNanoUsd });
  return { status: "updated" };
}

export function rollKey(draft: Draft, command: CommandOf<"rollKey">): ReplyOf<CommandOf<"rollKey">> {
  const { keyId, digest, label, nonce } = command;
  const key = draft.get("key", keyId);
  if (key === undefined || key.revokedAt !== null) return { status: "unknown" };
  if (key.nonce === nonce && key.digest === digest) return { status: "rolled" };
  if (draft.get("nonce", nonce) !== undefined) return { status: "nonce_used" };

  // After this point the old secret opens nothing.
  spendNonce(draft, nonce, command.nonceExpiresAt);
  draft.remove("secret", key.digest);
  draft.put("secret", { id: digest, keyId });
  draft.put("key", { ...key, digest, label, nonce });
  return { status: "rolled" };
}

export function setKeyTerms(
  draft: Draft,
  rows: ReadRows,
  command: CommandOf<"setKeyTerms">,
): ReplyOf<CommandOf<"setKeyTerms">> {
  const { keyId, window, limitNanoUsd, nonce, at } = command;
  const key = draft.get("key", keyId);
  if (key === undefined || key.revokedAt !== null) return { status: "unknown" };
  const expiresAt = command.expiresAt === undefined ? key.expiresAt : command.expiresAt;
  const terms = `${command.id} ${keyId} ${limitNanoUsd} ${window} ${command.expiresAt}`;
  const spent = draft.get("nonce", nonce);
  if (spent !== undefined) return { status: spent.digest === terms ? "set" : "nonce_used" };
  if (key.expiresAt !== null && key.expiresAt <= at) return { status: "expired" };

  // After this point the key has its new terms.
  spendNonce(draft, nonce, command.nonceExpiresAt, terms);
  if (window !== key.window) recountKey(draft, rows, { key, window, at, old: countersOf(key, at) });
  draft.put("key", { ...key, window, limitNanoUsd, expiresAt });
  draft.put("budget", { id: `key:${keyId}`, window, limitNanoUsd });
  return { status: "set" };
}

export function revokeKey(draft: Draft, command: CommandOf<"revokeKey">): ReplyOf<CommandOf<"revokeKey">> {
  const key = draft.get("key", command.keyId);
  if (key?.revokedAt != null) return { status: "revoked" };
  const account = draft.get("account", "account");
  if (key === undefined || account === undefined) return { status: "unknown" };
  draft.put("key", { ...key, revokedAt: command.at });
  draft.put("account", { ...account, keys: account.keys - 1 });
  return { status: "revoked" };
}

/**
 * The end of a key, from which its retention counts: it was revoked, it expires, or its wait for a credit ends. Null if
 * no such time is known.
 */
export function keyEnd({ revokedAt, expiresAt, unpaidUntil }: Omit<KeyRow, "id">): number | null {
  const end = Math.min(revokedAt ?? NEVER, expiresAt ?? NEVER, unpaidUntil ?? NEVER);
  return end === NEVER ? null : end;
}

/** Whether a key can be deleted: its retention has ended, and so have all its requests. */
export function isKeyOver(draft: Draft, keyId: string, at: number): boolean {
  const key = draft.get("key", keyId);
  const end = key === undefined ? null : keyEnd(isPaid(draft) ? { ...key, unpaidUntil: null } : key);
  if (key === undefined || end === null || end + OUTCOME_RETENTION_MS >= at) return false;
  return countersOf(key, at).every((id) => counterOf(draft, id).openHolds === 0);
}

/** Extends the wait for a credit of a key that is used for free models. Stored once a day. */
export function keepUsedKey(draft: Draft, keyId: string, at: number): void {
  const key = draft.get("key", keyId);
  if (key === undefined || key.unpaidUntil === null || isPaid(draft)) return;
  const unpaidUntil = at + UNPAID_KEY_MS;
  if (key.unpaidUntil <= unpaidUntil - DAY_MS) draft.put("key", { ...key, unpaidUntil });
}

/** Ends the wait of a key whose account was credited in time. */
export function keepPaidKey(draft: Draft, keyId: string): void {
  const key = draft.get("key", keyId);
  if (key !== undefined && key.unpaidUntil !== null && isPaid(draft)) draft.put("key", { ...key, unpaidUntil: null });
}

/** Deletes a key. Receipts and totals still name its id. */
export function forgetKey(draft: Draft, keyId: string, at: number): void {
  const key = draft.get("key", keyId);
  const account = draft.get("account", "account");
  if (key === undefined) return;
  for (const id of countersOf(key, at)) if (draft.get("counter", id) !== undefined) draft.remove("counter", id);
  draft.remove("secret", key.digest);
  draft.remove("budget", `key:${keyId}`);
  draft.remove("key", keyId);
  if (account === undefined) return;
  const keys = account.keys - (key.revokedAt === null ? 1 : 0);
  if (keys === 0) draft.remove("account", "account");
  else if (keys !== account.keys) draft.put("account", { ...account, keys });
}

const NEVER = Number.POSITIVE_INFINITY;

/** Whether the account ever had a credit. */
function isPaid(draft: Draft): boolean {
  return (draft.get("budget", "balance")?.limitNanoUsd ?? 0) > 0;
}

/** The ids of a key's counters, one for each window in which it was valid. */
function countersOf(key: KeyRow, atMs: number): string[] {
  const ids: string[] = [];
  // A request may have a time a little before the key's creation, or after its end.
  const last = Math.min(key.revokedAt ?? atMs, key.expiresAt ?? atMs) + MAX_CLOCK_SKEW_MS;
  let at: number | null = key.createdAt - MAX_CLOCK_SKEW_MS;
  for (; at !== null && at <= last; at = windowEnd(key.window, at)) ids.push(counterId(`key:${key.id}`, key, at));
  return ids;
}
