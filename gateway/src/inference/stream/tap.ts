import type { ErrorBody } from "@inference/protocol/errors";
import { type Delivered, nothingDelivered } from "../../pricing/quote.ts";
import { nothingReported, type ReportedUsage } from "../../pricing/usage.ts";

/** What a stream runs through on its way to the client: it passes the bytes on and reads from them what to charge. */
export type Tap = {
  /** What may go to the client now, if anything. */
  push(chunk: Uint8Array): Uint8Array | undefined;
  /** Nothing more comes. What to send last: an error, unless the answer was whole. */
  end(cut: ErrorBody): Uint8Array | undefined;
  /** `failed`: an error came in place of the rest, or the rest cannot be read. An answer that was cut stays open. */
  state(): "open" | "done" | "failed";
  /** The provider said that it failed. Else a `failed` answer is one that cannot be read. */
  saysError(): boolean;
  reported(): ReportedUsage;
  delivered(): Delivered;
  upstreamId(): string | null;
  /** The model that answers, as the provider names it. */
  model(): string | null;
};

/** Bytes that mean nothing to us: their count is all there is to know. Whole when they end. */
export function audioTap(): Tap {
  let delivered = nothingDelivered;
  let ended = false;
  return {
    push(chunk) {
      if (chunk.length > 0) delivered = { bytes: delivered.bytes + chunk.length, events: delivered.events + 1 };
      return chunk;
    },
    end(_cut) {
      ended = true;
      return undefined;
    },
    state: () => (ended && delivered.bytes > 0 ? "done" : "open"),
    saysError: () => false,
    reported: () => nothingReported,
    delivered: () => delivered,
    upstreamId: () => null,
    model: () => null,
  };
}
