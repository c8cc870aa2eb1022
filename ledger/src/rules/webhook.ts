import type { Notice, Webhook } from "../messages/commands.ts";
import type { AccountRow, Rows } from "../rows/tables.ts";
import { isPaid, noAccount } from "./key.ts";
import { MAX_NOTICES, MAX_WEBHOOKS_PER_ACCOUNT, NOTICE_LOG_MS } from "./limits.ts";
import type { Rule } from "./place.ts";

/**
 * An account's webhooks and the notices for them, in the account's row. An account without webhooks notices nothing,
 * which a settle learns by one look at this row.
 */
export function webhooksOf(rows: Rows): readonly Webhook[] {
  const text = rows.get("account", "account")?.webhooks;
  return text == null ? [] : (JSON.parse(text) as Webhook[]);
}

/** The oldest first. */
export function noticesOf(rows: Rows): readonly Notice[] {
  const text = rows.get("account", "account")?.notices;
  return text == null ? [] : (JSON.parse(text) as Notice[]);
}

/**
 * The account's row with these notices. Of those above the maximum, the ones that are over are dropped first, and then
 * those of the newest one's type: events that a session can cause at will drop no others.
 */
export function withNotices(account: AccountRow, notices: readonly Notice[]): AccountRow {
  const kept = [...notices];
  while (kept.length > MAX_NOTICES) {
    const newest = kept.at(-1);
    const over = kept.findIndex(({ nextAt }) => nextAt === null);
    const alike = kept.findIndex((one) => one !== newest && one.event.type === newest?.event.type);
    kept.splice(Math.max(0, over === -1 ? alike : over), 1);
  }
  if (kept.length === 0) return { ...account, notices: null, dueAt: null };
  const dueAt = Math.min(...kept.map(({ nextAt, at }) => nextAt ?? at + NOTICE_LOG_MS));
  return { ...account, notices: JSON.stringify(kept), dueAt };
}

export const setWebhook: Rule<"setWebhook"> = ({ draft }, { type, at, ...terms }) => {
  const webhooks = webhooksOf(draft);
  if (webhooks.some(({ id }) => id === terms.id)) return { status: "set" };
  if (webhooks.length >= MAX_WEBHOOKS_PER_ACCOUNT) return { status: "too_many" };
  if (!isPaid(draft)) return { status: "unpaid" };

  // After this point the webhook is set.
  const account = draft.get("account", "account") ?? { ...noAccount, createdAt: at };
  const all: Webhook[] = [...webhooks, { ...terms, createdAt: at }];
  draft.put("account", { ...account, webhooks: JSON.stringify(all) });
  return { status: "set" };
};

export const removeWebhook: Rule<"removeWebhook"> = ({ draft }, { id }) => {
  const account = draft.get("account", "account");
  const webhooks = webhooksOf(draft);
  const left = webhooks.filter((webhook) => webhook.id !== id);
  if (account === undefined || left.length === webhooks.length) return { status: "unknown" };
  const notices = noticesOf(draft).filter(({ webhook }) => webhook !== id);
  const after = { ...withNotices(account, notices), webhooks: left.length === 0 ? null : JSON.stringify(left) };
  if (left.length === 0 && account.keys === 0) draft.remove("account", "account");
  else draft.put("account", after);
  return { status: "removed" };
};
