import type { KeyLimit } from "@inference/protocol/key-limit";
import { allowsModel } from "@inference/protocol/model-pattern";
import { DAY_MS } from "@inference/protocol/window";
import type { KeyTerms } from "../messages/commands.ts";
import type { Draft } from "../rows/draft.ts";
import type { AccountRow, KeyRow, ReadRows } from "../rows/tables.ts";
import { countersOf, keyBudget } from "./budget.ts";
import { dollarBudgets, limitsOf, termsOf, termsText } from "./key-limits.ts";
import { MAX_KEYS_PER_ACCOUNT, OUTCOME_RETENTION_MS, UNPAID_KEY_MS } from "./limits.ts";
import type { Place, Rule } from "./place.ts";
import { recountKey } from "./recount-key.ts";
import { spendNonce } from "./session.ts";

export const noAccount: AccountRow = {
  ...{ id: "account", keys: 0, createdAt: 0, webhooks: null, notices: null, dueAt: null },
};

/**
 * An account's API keys. A new secret, and any change of terms but a tighter one, need a signed message, whose nonce is
 * used here.
 */
export const createKey: Rule<"createKey"> = ({ draft }, command) => {
  const account = draft.get("account", "account") ?? { ...noAccount, createdAt: command.at };
  const existing = draft.get("key", command.keyId);
  if (existing?.nonce === command.nonce && existing.digest === command.digest) return { status: "created" };
  if (existing !== undefined || draft.get("nonce", command.nonce) !== undefined) return { status: "nonce_used" };
  if (account.keys >= MAX_KEYS_PER_ACCOUNT) return { status: "too_many_keys" };

  // After this point the key is made.
  spendNonce(draft, command.nonce, command.nonceExpiresAt);
  const { keyId, digest, label, name, window, limitNanoUsd, expiresAt, nonce } = command;
  const { limits = [], models = null, isPrivate = false } = command;
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
    terms: termsText({ limits, models, isPrivate }),
  });
  draft.put("secret", { id: digest, keyId });
  draft.put("account", { ...account, keys: account.keys + 1 });
  return { status: "created" };
};

export const updateKey: Rule<"updateKey"> = (place, command) => {
  const { draft } = place;
  const key = draft.get("key", command.keyId);
  if (key === undefined || key.revokedAt !== null) return { status: "unknown" };
  const { name = key.name, disabled, limitNanoUsd, models, isPrivate } = command;
  const old = termsOf(key);
  const first = { unit: "nano_usd" as const, window: key.window, most: limitNanoUsd ?? 0 };
  const lower = [...(limitNanoUsd === undefined ? [] : [first]), ...(command.limits ?? [])];
  const limits = limitsOf(key);
  for (const limit of lower) {
    const at = limits.findIndex(({ unit, window }) => unit === limit.unit && window === limit.window);
    if (limit.most > (limits[at]?.most ?? limit.most)) return { status: "would_raise" };
    if (at === -1) limits.push(limit);
    else limits[at] = limit;
  }
  const isWider = models?.some((model) => old.models?.some((pattern) => allowsModel(pattern, model)) === false);
  if (isWider === true) return { status: "would_raise" };

  // After this point the key is changed.
  const terms = { models: models ?? old.models, isPrivate: isPrivate ?? old.isPrivate };
  const changed = { ...key, name, disabled: disabled === undefined ? key.disabled : Number(disabled) };
  draft.put("key", withLimits(place, changed, { limits, ...terms }));
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

export const setKeyTerms: Rule<"setKeyTerms"> = (place, command) => {
  const { draft } = place;
  const { keyId, window, limitNanoUsd, nonce, at } = command;
  const key = draft.get("key", keyId);
  if (key === undefined || key.revokedAt !== null) return { status: "unknown" };
  const expiresAt = command.expiresAt === undefined ? key.expiresAt : command.expiresAt;
  const others = [command.limits, command.units, command.models, command.isPrivate];
  const terms = `${command.id} ${keyId} ${limitNanoUsd} ${window} ${command.expiresAt}${othersText(others)}`;
  const spent = draft.get("nonce", nonce);
  if (spent !== undefined) return { status: spent.digest === terms ? "set" : "nonce_used" };
  if (key.expiresAt !== null && key.expiresAt <= at) return { status: "expired" };

  // After this point the key has its new terms.
  spendNonce(draft, nonce, command.nonceExpiresAt, terms);
  const old = termsOf(key);
  const { limits = [], units = [], models = old.models, isPrivate = old.isPrivate } = command;
  const isKept = ({ unit }: KeyLimit) => (unit === "nano_usd" ? window === undefined : !units.includes(unit));
  const first = window === undefined ? key : { window, limitNanoUsd: limitNanoUsd ?? null };
  const after = { ...key, ...first, expiresAt, terms: null };
  const all = [...limitsOf(after), ...old.limits.filter(isKept), ...limits];
  draft.put(
    "key",
    withLimits(place, { ...key, window: after.window, expiresAt }, { limits: all, models, isPrivate }, at),
  );
  return { status: "set" };
};

/**
 * A key with other terms, whose charges are counted in the windows of its limits.
 *
 * @param key With the window of a key without a limit in dollars.
 */
function withLimits({ draft, rows, clockMs }: Place, key: KeyRow, terms: KeyTerms, at = clockMs): KeyRow {
  const first = terms.limits.find((limit) => limit.unit === "nano_usd");
  const after = {
    ...key,
    window: first?.window ?? key.window,
    limitNanoUsd: first?.most ?? null,
    terms: termsText({ ...terms, limits: terms.limits.filter((limit) => limit !== first) }),
  };
  const before = rows.get("key", key.id) ?? key;
  recountKey(draft, rows, { before, after, at });
  return after;
}

/** Empty for a command without them, as an earlier release writes it. */
function othersText(terms: readonly unknown[]): string {
  return terms.every((term) => term === undefined) ? "" : ` ${JSON.stringify(terms)}`;
}

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
  for (const { budget } of [...dollarBudgets(key), { budget: keyBudget(keyId, "minute") }]) {
    for (const { id } of countersOf(rows, budget)) draft.remove("counter", id);
  }
  draft.remove("secret", key.digest);
  draft.remove("key", keyId);
  if (account === undefined) return;
  const keys = account.keys - (key.revokedAt === null ? 1 : 0);
  const stays = keys > 0 || account.webhooks != null;
  if (stays && keys !== account.keys) draft.put("account", { ...account, keys });
  if (keys > 0) return;
  if (!stays) draft.remove("account", "account");
  if (isPaid(draft)) return;
  if (draft.get("bill", "bill") !== undefined) draft.remove("bill", "bill");
  if (draft.get("budget", "balance") !== undefined) draft.remove("budget", "balance");
}

const NEVER = Number.POSITIVE_INFINITY;

/** Whether the account ever had a credit. */
export function isPaid(draft: Draft): boolean {
  return (draft.get("budget", "balance")?.limitNanoUsd ?? 0) > 0;
}
