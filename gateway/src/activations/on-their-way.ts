import { ChainUnavailable, type PendingActivation } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import type { BridgeMessage, DollarView, SecondaryBooks } from "@inference/protocol/dollars";
import { formatDecimal, NANO_USD_PER_TOKEN_UNIT } from "@inference/protocol/money";
import type { Gateway } from "../gateway.ts";

/** The public form of an activation that is not credited yet. */
export type ActivationOnItsWay = {
  sourceChainId: number;
  /** The id of the bridge's message; null for an activation on the primary chain. */
  guid: string | null;
  amountNanoUsd: bigint;
  stage: BridgeMessage["stage"] | "credited";
  /** The cause of the wait, for people; null once the activation is credited or removed. */
  waitsFor: string | null;
  /** The transaction of the burn, and the time of its block where it is known. */
  transaction: string;
  since: number | null;
  /** Its block on the primary chain; null until it is there. */
  block: number | null;
  /** When it is credited at the latest if chains and bridges work as they should; null if that is not known. */
  dueAt: number | null;
};

/** Longest times of each part of the way. The keeper alerts after the same times, of a flush sooner. */
const FINALITY_MS = 30 * 60_000;
const MESSAGE_MS = 3_600_000;
const OUTBOX_MS = 24 * 3_600_000;
const DOLLARS_IN_FLIGHT_MS = 24 * 3_600_000;

/**
 * The activations of an account that are not in its balance, and for a day those that came from a secondary chain. Null
 * while the primary chain cannot be read.
 */
export async function activationsOnTheirWay(gateway: Gateway, account: Address): Promise<ActivationOnItsWay[] | null> {
  const { environment, config } = gateway;
  const view = environment.dollars?.() ?? null;
  const pending = await pendingOf(gateway, account);
  if (pending === null) return null;
  const wanted = account.toLowerCase();
  const messages = (view?.messages ?? []).filter(({ kind, to }) => kind === "activation" && to === wanted);
  const booked = environment.chain.following().block ?? 0;
  const bridged = messages.map((message) => bridgedActivation(message, view, booked));
  const own = pending
    .filter(({ transaction }) => !messages.some(({ delivery }) => delivery?.transaction === transaction))
    .map(
      ({ amountNanoUsd, block, transaction }): ActivationOnItsWay => ({
        ...{ sourceChainId: config.settlement.chainId, guid: null, amountNanoUsd: BigInt(amountNanoUsd) },
        ...{ stage: "delivered", waitsFor: WAITS_FOR.delivered, transaction, since: null, block, dueAt: null },
      }),
    );
  return [...bridged, ...own];
}

/** Null while the chain cannot be read, which is not the same as none. */
export async function pendingOf({ environment }: Gateway, account: Address): Promise<PendingActivation[] | null> {
  try {
    return await environment.chain.pendingActivations(account);
  } catch (error) {
    if (error instanceof ChainUnavailable) return null;
    throw error;
  }
}

const WAITS_FOR = {
  burned: "The burn's block is not final yet.",
  sent: "Not all verifiers have attested the message yet.",
  verified: "The message is about to be delivered on the primary chain.",
  delivered: "Its block on the primary chain is not final yet.",
} as const;

function bridgedActivation(message: BridgeMessage, view: DollarView | null, booked: number): ActivationOnItsWay {
  const { guid, sourceChainId, amountToken, transaction, at, delivery } = message;
  const stage = delivery !== null && delivery.block <= booked ? "credited" : message.stage;
  const books = view?.chains.find(({ chainId }) => chainId === sourceChainId);
  return {
    ...{ guid, sourceChainId, stage, transaction, since: at, block: delivery?.block ?? null },
    amountNanoUsd: amountToken * NANO_USD_PER_TOKEN_UNIT,
    waitsFor: waitsFor(stage, message, books),
    dueAt: dueAt(stage, message, { books, now: view?.at ?? 0 }),
  };
}

function waitsFor(
  stage: ActivationOnItsWay["stage"],
  { amountToken, sourceChainId }: BridgeMessage,
  books: SecondaryBooks | undefined,
): string | null {
  if (stage === "credited" || stage === "discarded") return null;
  if (stage !== "waiting") return WAITS_FOR[stage];
  const line = `The dollars of chain ${sourceChainId} on the primary chain`;
  if (books === undefined) return `${line} do not cover it yet.`;
  const { lineToken, outboxToken, flushedToken, bookedToken } = books;
  const coming = max(0n, flushedToken - bookedToken);
  return (
    `${line} are ${dollars(lineToken)}, and it needs ${dollars(amountToken)}. ` +
    `${dollars(coming)} are being carried there, ${dollars(outboxToken)} wait in the outbox.`
  );
}

function dueAt(
  stage: ActivationOnItsWay["stage"],
  { at, amountToken, delivery }: BridgeMessage,
  { books, now }: { books: SecondaryBooks | undefined; now: number },
): number | null {
  if (stage === "credited" || stage === "discarded") return null;
  if (stage === "delivered") return (delivery?.at ?? now) + FINALITY_MS;
  const arrivesAt = at + FINALITY_MS + MESSAGE_MS;
  const isCovered = stage !== "waiting" && (books === undefined || books.lineToken >= amountToken);
  if (isCovered) return arrivesAt + FINALITY_MS;
  return Math.max(arrivesAt, coveredAt(books, now)) + MESSAGE_MS + FINALITY_MS;
}

/** When the dollars that are in a chain's outbox now are booked on the primary chain at the latest. */
function coveredAt(books: SecondaryBooks | undefined, now: number): number {
  const flushedAt = books?.outboxSince == null ? now : Math.max(now, books.outboxSince + OUTBOX_MS, books.nextFlushAt);
  return flushedAt + DOLLARS_IN_FLIGHT_MS;
}

function dollars(amountToken: bigint): string {
  return `$${formatDecimal(amountToken, 6)}`;
}

function max(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
