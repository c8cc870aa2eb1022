import { DAY_MS } from "@inference/protocol/window";
import type { Draft } from "../rows/draft.ts";
import type { KeyRow, ReadRows } from "../rows/tables.ts";
import { countersOf, keyBudget } from "./budget.ts";
import { MAX_KEYS_PER_ACCOUNT, OUTCOME_RETENTION_MS, UNPAID_KEY_MS } from "./limits.ts";
import type { Place, Rule } from "./place.ts";
import { recountKey } from "./recount-key.ts";
import { spendNonce } from "./session.ts";

/**
 * An account's API keys. A new secret, and any change of terms but a lower limit, need a signed message, whose nonce is
 * used here.
 */
export const createKey: Rule<"createKey"> = ({ draft }, command) => {
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
  draft.put("account", { ...account, keys: account.keys + 1 });
  return { status: "created" };
};

export const updateKey: Rule<"updateKey"> = ({ draft }, command) => {
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
  return { status: "updated" };
};

export const rollKey: Rule<"rollKey"> = ({ draft }, command) => {
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
};

export const setKeyTerms: Rule<"setKeyTerms"> = ({ draft, rows }, command) => {
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
  if (window !== key.window) recountKey(draft, rows, { key, window, at });
  draft.put("key", { ...key, window, limitNanoUsd, expiresAt });
  return { status: "set" };
};

export const revokeKey: Rule<"revokeKey"> = ({ draft }, command) => {
  const key = draft.get("key", command.keyId);
  if (key?.revokedAt != null) return { status: "revoked" };
  const account = draft.get("account", "account");
  if (key === undefined || account === undefined) return { status: "unknown" };
  draft.put("key", { ...key, revokedAt: command.at });
  draft.put("account", { ...account, keys: account.keys - 1 });
  return { status: "revoked" };
};

/**
 * The end of a key, from which its retention counts: it was revoked, it expires, or its wait for a credit ends. Null if
 * no such time is known.
 */
export function keyEnd({ revokedAt, expiresAt, unpaidUntil }: Omit<KeyRow, "id">): number | null {
  const end = Math.min(revokedAt ?? NEVER, expiresAt ?? NEVER, unpaidUntil ?? NEVER);
  return end === NEVER ? null : end;
}

/** Whether a key can be deleted: its retention has ended, and so have all its requests. */
export function isKeyOver({ draft, rows }: Place, keyId: string, at: number): boolean {
  const key = draft.get("key", keyId);
  const end = key === undefined ? null : keyEnd(isPaid(draft) ? { ...key, unpaidUntil: null } : key);
  if (end === null || end + OUTCOME_RETENTION_MS >= at) return false;
  return rows.holds().every((hold) => hold.keyId !== keyId);
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

/**
 * Deletes a key. Receipts and totals still name its id. The last key of an account without credit takes the bill along.
 */
export function forgetKey(draft: Draft, rows: ReadRows, keyId: string): void {
  const key = draft.get("key", keyId);
  const account = draft.get("account", "account");
  if (key === undefined) return;
  for (const { id } of countersOf(rows, keyBudget(keyId))) draft.remove("counter", id);
  draft.remove("secret", key.digest);
  draft.remove("key", keyId);
  if (account === undefined) return;
  const keys = account.keys - (key.revokedAt === null ? 1 : 0);
  if (keys !== account.keys && keys > 0) draft.put("account", { ...account, keys });
  if (keys > 0) return;
  draft.remove("account", "account");
  if (isPaid(draft)) return;
  if (draft.get("bill", "bill") !== undefined) draft.remove("bill", "bill");
  if (draft.get("budget", "balance") !== undefined) draft.remove("budget", "balance");
}

const NEVER = Number.POSITIVE_INFINITY;

/** Whether the account ever had a credit. */
function isPaid(draft: Draft): boolean {
  return (draft.get("budget", "balance")?.limitNanoUsd ?? 0) > 0;
}
