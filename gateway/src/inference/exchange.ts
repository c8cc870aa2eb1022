import type { Tally } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import type { NanoUsd } from "@inference/protocol/money";
import { limits } from "../config.ts";
import type { Gateway } from "../gateway.ts";
import type { Delivered, TokenUsage } from "../pricing/quote.ts";
import type { Spender } from "../upstream/key-records.ts";
import { type Conclusion, conclude, type Ending, unknownBill } from "./conclusion.ts";
import type { Order } from "./requests/order.ts";
import type { InferenceRoute } from "./routes.ts";

/** One admitted request, from its hold to its end. */
export type Exchange = {
  id: string;
  /** The time of admission: every window of the request comes from it. */
  at: number;
  owner: Partition;
  keyId: string | null;
  /** Whose capacity pays; null for an account's balance. */
  spender: Spender | null;
  /** The key at the provider that the request is sent with. */
  upstreamKey: string;
  route: string;
  order: Order;
  /** Aborts what is between us and the provider. */
  abort: AbortController;
  /** The provider's id of the answer, once it is known. */
  upstreamId: string | null;
  /** The answer's stream has begun. */
  streams: boolean;
  ended: boolean;
};

/** A longer one is no id that a record would be found by. */
const MAX_ID_LETTERS = 200;

/**
 * What is kept, and shown in the receipt, of the provider's id of an answer. Nothing of one that repeats a key of ours.
 */
export function keptId({ secrets }: Gateway, { upstreamKey }: Exchange, id: string | null): string | null {
  if (id === null || secrets(upstreamKey).remove(id) !== id) return null;
  return id.slice(0, MAX_ID_LETTERS);
}

/** What a hold remembers, so that another process could settle it. */
export type HoldDetail = AnswerDetail & {
  /** What the provider may bill once the request was forwarded, while nothing more is known of it. */
  mayBillNanoUsd: NanoUsd;
};

/** What a hold and its receipt say of the request. */
export type AnswerDetail = { route: string; model: string; snapshot: string; stream: boolean };

/** Ends the request in the ledger, once. Answers what was charged, and then whether it is durable. */
export function endExchange(
  gateway: Gateway,
  exchange: Exchange,
  ending: Ending,
): { conclusion: Conclusion; durable: Promise<boolean> } {
  const conclusion = conclude(exchange.order.quote, ending);
  if (exchange.ended) return { conclusion, durable: Promise.resolve(true) };
  exchange.ended = true;
  gateway.queue.leave(exchange.order.model.id);
  const { log } = gateway.environment;
  if (conclusion.alert !== null) log("alert", "usage", { request: exchange.id, alert: conclusion.alert });
  const receipt = receiptDetail(exchange, ending, conclusion);
  const durable = resolveHold(gateway, exchange, conclusion, receipt);
  gateway.environment.background(durable);
  return { conclusion, durable };
}

/**
 * Whether the hold ended as it was to. Only then is the end counted, and its loss told: one that was lost is the
 * sweeper's to end, count and tell. Never throws.
 */
async function resolveHold(
  { environment, live, metrics }: Gateway,
  exchange: Exchange,
  conclusion: Conclusion,
  receipt: ReceiptDetail,
): Promise<boolean> {
  const { ledger, clock, log } = environment;
  const { id, owner } = exchange;
  const { outcome, chargeNanoUsd, lossNanoUsd } = conclusion;
  const at = clock.now();
  const common = { id, at, lossNanoUsd, detail: JSON.stringify(receipt), tally: tallyOf(receipt) };
  try {
    const { status } = await ledger.run(
      () =>
        outcome === "settle"
          ? send(owner, { type: "settle", ...common, chargeNanoUsd })
          : send(owner, { type: "release", ...common }),
      { untilDurable: true },
    );
    const isResolved = status === (outcome === "settle" ? "settled" : "released");
    if (!isResolved) throw new Error(`the ledger answered ${outcome} with ${status}`);
    metrics.ended(conclusion, at - exchange.at);
    if (lossNanoUsd > 0) log("alert", "loss", { request: id, lossNanoUsd, why: receipt.why ?? "" });
    return true;
  } catch (error) {
    // A hold that is still open is ended by the sweeper, by what is known then.
    log("alert", "settle_failed", { request: id, error: String(error) });
    return false;
  } finally {
    // Until its end is durable the sweeper leaves it alone: a full disk can delay a settle beyond the lease.
    live.delete(id);
  }
}

const MAX_SETTLE_WAIT_MS = 2_000;

/**
 * Waits a while for the end of a request to be durable. A full disk delays the settle, not the answer: the hold is
 * durable, and stays until the settle is. False if the settle was lost.
 */
export function durableOrLate(gateway: Gateway, durable: Promise<boolean>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = gateway.environment.timers.after(MAX_SETTLE_WAIT_MS, () => resolve(true));
    void durable.then((kept) => {
      timer.cancel();
      resolve(kept);
    });
  });
}

/**
 * Writes down what had been delivered by now, and how the provider knows the answer. Throws if the ledger does not have
 * it.
 */
export async function checkpointExchange(gateway: Gateway, exchange: Exchange, delivered: Delivered): Promise<void> {
  if (exchange.ended) return;
  const { id, owner, order, upstreamId } = exchange;
  const deliveredNanoUsd = order.quote.chargeForDelivered(delivered);
  const { status } = await gateway.environment.ledger.run(() =>
    send(owner, { type: "checkpoint", id, deliveredNanoUsd, upstreamId }),
  );
  if (status !== "written") throw new Error(`the ledger answered a checkpoint with ${status}`);
}

export function holdDetail(route: InferenceRoute, order: Order): string {
  const detail: HoldDetail = {
    route: route.name,
    model: order.model.id,
    snapshot: order.quote.snapshotId,
    stream: order.stream,
    mayBillNanoUsd: unknownBill(order.quote, order.stream || route.passesThrough ? "stream" : "whole"),
  };
  return JSON.stringify(detail);
}

/** What a receipt says of a request, beside its amounts. */
export type ReceiptDetail = AnswerDetail & {
  basis: Conclusion["basis"] | "record" | "checkpoint";
  usage: TokenUsage | null;
  upstreamId: string | null;
  cancelled: boolean;
  why: string | null;
};

/** What a receipt adds to the totals of its day. */
export function tallyOf({ model, usage }: ReceiptDetail): Tally {
  return { model, promptTokens: usage?.promptTokens ?? 0, completionTokens: usage?.completionTokens ?? 0 };
}

function receiptDetail(exchange: Exchange, ending: Ending, conclusion: Conclusion): ReceiptDetail {
  const { order, route, upstreamId } = exchange;
  return {
    route,
    model: order.model.id,
    snapshot: order.quote.snapshotId,
    stream: order.stream,
    basis: conclusion.basis,
    usage: ending.kind === "answer" && typeof ending.usage === "object" ? ending.usage : null,
    upstreamId,
    cancelled: ending.kind === "answer" && ending.clientGone,
    why: whyOf(ending),
  };
}

function whyOf(ending: Ending): string | null {
  if (ending.kind === "nothing") return ending.why;
  if (ending.delivered.isBlocked === true) return "blocked by the provider";
  return ending.givenUp ? "the answer took too long or was too large, and was aborted" : null;
}

/**
 * Aborts the exchange when its time is over: where nothing of an answer has come, or not all of one that comes whole; a
 * minute before its lease, so that no hold lapses under a live request; and a while after its client has gone, whatever
 * it is waiting for then.
 */
export function startDeadline(
  gateway: Gateway,
  exchange: Pick<Exchange, "at" | "abort" | "streams">,
  clientGone: AbortSignal | null,
): { cancel(): void } {
  const { clock, timers } = gateway.environment;
  const over = (): void => exchange.abort.abort();
  // From admission on, as the lease is: reading the body and reserving have taken of it already.
  const left = Math.min(Math.max(0, exchange.at + limits.requestMs - clock.now()), limits.requestMs);
  const { answerMs } = gateway.config.request;
  let lease = answerMs < left ? timers.after(answerMs, unanswered) : timers.after(left, over);
  let drain: { cancel(): void } | undefined;
  function unanswered(): void {
    if (exchange.streams) lease = timers.after(left - answerMs, over);
    else over();
  }
  const onGone = (): void => {
    drain = timers.after(gateway.config.drainMs, over);
  };
  if (clientGone?.aborted === true) onGone();
  else clientGone?.addEventListener("abort", onGone, { once: true });
  return {
    cancel() {
      clientGone?.removeEventListener("abort", onGone);
      lease.cancel();
      drain?.cancel();
    },
  };
}
