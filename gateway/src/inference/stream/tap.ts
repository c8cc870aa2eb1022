import type { ErrorBody } from "@inference/protocol/errors";
import { type Delivered, nothingDelivered } from "../../pricing/quote.ts";
import { nothingReported, type ReportedUsage } from "../../pricing/usage.ts";

/** A stream runs through a tap on its way to the client. The tap passes its bytes on, and reads what to charge. */
export type Tap = {
  /** What may be sent now, if anything. */
  push(chunk: Uint8Array): Uint8Array | undefined;
  /** Call it when nothing more comes. Returns what to send last: an error, unless the answer was whole. */
  end(cut: ErrorBody): Uint8Array | undefined;
  /** `failed`: an error came, or the rest cannot be read. An answer that was cut stays open. */
  state(): "open" | "done" | "failed";
  /** Whether the provider said that it failed. Otherwise a `failed` answer cannot be read. */
  saysError(): boolean;
  /** The bytes of the answer that are in memory until its end. */
  held(): number;
  /** An event for an error that ends the answer. */
  errorEvent(body: ErrorBody): Uint8Array;
  /** What to send to a client that waits. */
  keepAlive(): Uint8Array;
  reported(): ReportedUsage;
  delivered(): Delivered;
  upstreamId(): string | null;
  /** The model that the answer names. */
  model(): string | null;
};

/** For audio: only the bytes are counted. It is whole when they end. */
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
    held: () => 0,
    errorEvent: () => new Uint8Array(),
    keepAlive: () => new Uint8Array(),
    saysError: () => false,
    reported: () => nothingReported,
    delivered: () => delivered,
    upstreamId: () => null,
    model: () => null,
  };
}
