import type { KeyLimit } from "@inference/protocol/key-limit";
import type { NanoUsd } from "@inference/protocol/money";
import { NEAR_LIMIT_PERCENT } from "@inference/protocol/webhook";
import { windowEnd } from "@inference/protocol/window";
import type { AccountEvent, Notice, NoticeTry, Refusal, Webhook } from "../messages/commands.ts";
import type { KeyRow, ReceiptRow, Rows } from "../rows/tables.ts";
import { counterOf, LINE, shareOf } from "./budget.ts";
import { limitCounterId, limitsOf } from "./key-limits.ts";
import { NOTICE_LOG_MS, NOTICE_WAITS_MS } from "./limits.ts";
import type { Place, Rule } from "./place.ts";
import { noticesOf, webhooksOf, withNotices } from "./webhook.ts";

/**
 * Notices: the events of an account for its webhooks, each in the commit of its cause. Most are found by a comparison
 * of the rows before and after a command, so the one command that crosses a limit notices it. A sender reports its
 * tries with `noteTries`.
 */
export function noticeSettle(place: Place, { keyId, admittedAt }: ReceiptRow): void {
  const { draft } = place;
  const webhooks = webhooksOf(draft);
  if (webhooks.length === 0) return;
  noticeBalance(place, webhooks);
  const key = keyId === null ? undefined : draft.get("key", keyId);
  if (key === undefined) return;
  for (const limit of limitsOf(key)) noticeLimit(place, key, limit, { at: admittedAt, webhooks, isRefused: false });
}

/**
 * Notices a credit, and a balance that fell because of debits that were taken over. Another reading of the chain begins
 * with smaller totals: they are no event, and neither is their way back up.
 */
export function noticeHeard(place: Place): void {
  const { draft, rows } = place;
  const webhooks = webhooksOf(draft);
  if (webhooks.length === 0) return;
  const [before, after] = [mostActivated(rows), mostActivated(draft)];
  if (after > before) {
    const event = { type: "credit.added", amountNanoUsd: after - before, balanceNanoUsd: unspent(draft) } as const;
    add(place, webhooks, `credit_${after}`, event);
  }
  noticeBalance(place, webhooks);
}

/** Notices that a limit of a key refused a request, near its end. Once for each limit in each window. */
export function noticeFull(place: Place, key: KeyRow, { window }: Refusal, at: number): void {
  const webhooks = webhooksOf(place.draft);
  if (webhooks.length === 0) return;
  for (const limit of limitsOf(key)) {
    if (limit.window === window) noticeLimit(place, key, limit, { at, webhooks, isRefused: true });
  }
}

function noticeBalance(place: Place, webhooks: readonly Webhook[]): void {
  const [before, after] = [unspent(place.rows), unspent(place.draft)];
  for (const webhook of webhooks) {
    const { thresholdNanoUsd } = webhook;
    if (thresholdNanoUsd === null || before < thresholdNanoUsd || after >= thresholdNanoUsd) continue;
    const { settledNanoUsd } = counterOf(place.draft, LINE);
    add(place, [webhook], `balance_${settledNanoUsd}`, {
      type: "balance.low",
      balanceNanoUsd: after,
      thresholdNanoUsd,
    });
  }
}

/** The unspent balance of an account, also while the chain is read again. Holds do not count. */
function unspent(rows: Rows): NanoUsd {
  return Math.max(0, mostActivated(rows) - counterOf(rows, LINE).settledNanoUsd);
}

/** The highest total of activations that the account ever heard. */
export function mostActivated(rows: Rows): NanoUsd {
  const activatedNanoUsd = rows.get("budget", "balance")?.limitNanoUsd ?? 0;
  return Math.max(activatedNanoUsd, rows.get("bill", "bill")?.mostActivatedNanoUsd ?? 0);
}

/** Notices that a dollar limit of a key is near or reached. Near its end, a refusal of the limit reaches it too. */
function noticeLimit(
  place: Place,
  key: KeyRow,
  limit: KeyLimit,
  { at, webhooks, isRefused }: { at: number; webhooks: readonly Webhook[]; isRefused: boolean },
): void {
  const { unit, window, most } = limit;
  if (unit !== "nano_usd") return;
  const { rows, draft } = place;
  const id = limitCounterId(key, limit, at);
  const before = counterOf(rows, id).settledNanoUsd;
  const counter = counterOf(draft, id);
  const used = counter.settledNanoUsd;
  const near = most - shareOf(most, 100 - NEAR_LIMIT_PERCENT, 100);
  const isReached = isRefused ? used > 0 && used >= near : before < most && used >= most;
  if (!isReached && (before >= near || used < near)) return;
  if (isReached) {
    // A session can lower the limit again and again. A signed change begins a new counter.
    if (counter.toldLimitNanoUsd != null) return;
    draft.put("counter", { ...counter, toldLimitNanoUsd: most });
  }
  const type = isReached ? "key.limit_reached" : "key.limit_near";
  const fact = `key_${id.slice(id.indexOf(":") + 1)}_${most}_${isReached ? 100 : NEAR_LIMIT_PERCENT}`;
  const terms = { keyId: key.id, name: key.name, window, limitNanoUsd: most, usedNanoUsd: used };
  add(place, webhooks, fact, { type, ...terms, resetsAt: windowEnd(window, at) });
}

export const notice: Rule<"notice"> = (place, { fact, event }) => {
  add(place, webhooksOf(place.draft), fact, event);
  return { status: "noticed" };
};

/** Adds an event for each of the webhooks that wants it. A fact that was noticed is not noticed again. */
function add({ draft, clockMs }: Place, webhooks: readonly Webhook[], fact: string, event: AccountEvent): void {
  const account = draft.get("account", "account");
  if (account === undefined) return;
  const notices = noticesOf(draft);
  const fresh = webhooks.flatMap(({ id: webhook, events }): Notice[] => {
    const id = `${webhook}_${fact.replaceAll(/[^\w-]/g, "_")}`;
    if (!events.includes(event.type) || notices.some((known) => known.id === id)) return [];
    const untried = { tries: 0, nextAt: clockMs, triedAt: null, isDelivered: false, result: null };
    return [{ id, webhook, at: clockMs, event, ...untried }];
  });
  if (fresh.length > 0) draft.put("account", withNotices(account, [...notices, ...fresh]));
}

export const noteTries: Rule<"noteTries"> = ({ draft }, { at, tries }) => {
  const account = draft.get("account", "account");
  if (account === undefined) return { status: "noted" };
  const results = new Map(tries.map((one) => [one.id, one]));
  const notices = noticesOf(draft).map((one) => {
    const result = results.get(one.id);
    return result === undefined || one.nextAt === null ? one : tried(one, result, at);
  });
  const rests = restsOf(notices, results);
  const rested = notices.map((one) => {
    const until = rests.get(one.webhook) ?? 0;
    return one.nextAt === null || one.nextAt >= until ? one : { ...one, nextAt: until };
  });
  const kept = rested.filter((one) => one.nextAt !== null || one.at + NOTICE_LOG_MS > at);
  draft.put("account", withNotices(account, kept));
  return { status: "noted" };
};

function tried(one: Notice, { isDelivered, result }: NoticeTry, at: number): Notice {
  const wait = isDelivered ? undefined : NOTICE_WAITS_MS[one.tries];
  const nextAt = wait === undefined ? null : at + wait;
  return { ...one, tries: one.tries + 1, triedAt: at, nextAt, isDelivered, result };
}

/** The next try of each webhook that failed. Its other notices wait until then. */
function restsOf(notices: readonly Notice[], results: ReadonlyMap<string, NoticeTry>): Map<string, number> {
  const rests = new Map<string, number>();
  for (const { id, webhook, nextAt } of notices) {
    if (results.get(id)?.isDelivered === false && nextAt !== null) rests.set(webhook, nextAt);
  }
  return rests;
}
