import type { Tally } from "@inference/ledger/commands";
import type { ReceiptRow } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import { dayNumber } from "@inference/protocol/window";
import type { Gateway } from "../../gateway.ts";
import type { TokenUsage } from "../../pricing/usage.ts";
import type { InferenceRoute } from "../request.ts";
import type { Order, TriedModel } from "../requests/order.ts";
import type { Conclusion, Ending } from "./conclusion.ts";

/** The detail of a hold, so that another process can settle it. Its receipt repeats it. */
export type AnswerDetail = {
  route: string;
  model: string;
  snapshot: string;
  stream: boolean;
  /** The name that the client groups its spending by; absent: none. */
  tag?: string;
  /** Absent: none before this one. */
  tried?: readonly TriedModel[];
};

/** The detail of a receipt, beside its amounts. */
export type ReceiptDetail = AnswerDetail & {
  basis: Conclusion["basis"] | "record" | "checkpoint";
  usage: TokenUsage | null;
  upstreamId: string | null;
  cancelled: boolean;
  why: string | null;
};

export function holdDetail({ route, order, tag }: HoldSubject): AnswerDetail {
  const { model, quote, stream, tried } = order;
  const detail: AnswerDetail = { route: route.name, model: model.id, snapshot: quote.snapshotId, stream };
  if (tag !== undefined) detail.tag = tag;
  if (tried !== undefined) detail.tried = tried;
  return detail;
}

/** @param upstreamId The provider's id of the answer; null if it is unknown. */
export function receiptDetail(
  { upstreamId, ...subject }: HoldSubject & { upstreamId: string | null },
  ending: Ending,
  { basis }: Conclusion,
): ReceiptDetail {
  return {
    ...holdDetail(subject),
    basis,
    usage: ending.kind === "answer" && typeof ending.usage === "object" ? ending.usage : null,
    upstreamId,
    cancelled: ending.kind === "answer" && ending.clientGone,
    why: whyOf(ending),
  };
}

/** A receipt's facts about its request. */
type HoldSubject = { route: InferenceRoute; order: Order; tag: string | undefined };

function whyOf(ending: Ending): string | null {
  if (ending.kind === "nothing") return ending.why;
  if (ending.delivered.isBlocked === true) return "blocked by the provider";
  return ending.givenUp ? "the answer was not read to its end" : null;
}

/** The command that ends a hold with a receipt: with its charge, or free. */
export function endCommand(
  end: { id: string; at: number },
  { outcome, chargeNanoUsd, lossNanoUsd }: Pick<Conclusion, "outcome" | "chargeNanoUsd" | "lossNanoUsd">,
  receipt: ReceiptDetail,
) {
  const ended = { ...end, lossNanoUsd, detail: JSON.stringify(receipt), ...countedOf(receipt) };
  return outcome === "settle"
    ? ({ type: "settle", chargeNanoUsd, snapshot: receipt.snapshot, ...ended } as const)
    : ({ type: "release", ...ended } as const);
}

/** A receipt's addition to the totals of its day, and the tokens of its key's limit; without a usage the ledger's. */
function countedOf({ model, usage, tag }: ReceiptDetail): { tally: Tally; tokens?: number } {
  const { promptTokens = 0, completionTokens = 0 } = usage ?? {};
  const tally: Tally = { model, promptTokens, completionTokens };
  if (tag !== undefined) tally.tag = tag;
  return usage === null ? { tally } : { tally, tokens: promptTokens + completionTokens };
}

/** The contents of a signed receipt for a charge to a balance. */
type SignedCharge = { account: Address } & Pick<AnswerDetail, "model" | "snapshot"> &
  Pick<ReceiptRow, "id" | "admittedAt" | "chargeNanoUsd" | "server" | "offer">;

/**
 * The gateway's signed word for a charge. The same receipt always has the same text: see
 * `protocol/src/signed-receipt.ts`.
 */
export function signReceipt(
  { config, receiptKey }: Pick<Gateway, "config" | "receiptKey">,
  charge: SignedCharge,
): string {
  const { chainId, address } = config.settlement;
  return receiptKey.sign({
    iss: config.baseUrl,
    sub: charge.account,
    jti: charge.id,
    iat: Math.floor(charge.admittedAt / 1_000),
    chain_id: chainId,
    settlement: address,
    cost_nano_usd: charge.chargeNanoUsd,
    model: charge.model,
    snapshot: charge.snapshot,
    day: dayNumber(charge.admittedAt),
    served_by: (charge.server as Address | null) ?? "protocol",
    offer: charge.offer as `0x${string}` | null,
  });
}

/** The signed receipt of a request that was charged to a balance. */
export function signedReceiptOf(gateway: Gateway, account: Address, receipt: ReceiptRow): string {
  const { model, snapshot } = JSON.parse(receipt.detail) as ReceiptDetail;
  const { id, admittedAt, chargeNanoUsd, server, offer } = receipt;
  return signReceipt(gateway, { account, id, admittedAt, chargeNanoUsd, model, snapshot, server, offer });
}
