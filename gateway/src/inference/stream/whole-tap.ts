import type { Delivered } from "../../pricing/quote.ts";
import { nothingReported, type ReportedUsage } from "../../pricing/usage.ts";
import type { Charged } from "./answer-writer.ts";

/** A large whole answer runs through a tap on its way to the client. The tap reads what to charge. */
export type WholeTap = {
  /** What may be sent now, if anything. The end is in `last` only. */
  push(chunk: Uint8Array): Uint8Array | undefined;
  /** Call it when nothing more comes. */
  end(): void;
  /** `done`: the answer is whole, whatever comes after. `failed`: see `fault`; after an error a usage may still come. */
  state(): "open" | "done" | "failed";
  /** Why an answer cannot be used: it is not of the expected form, or it is an error. */
  fault(): "malformed" | "error" | null;
  /** The end of the answer. Call it once, for an answer that is done, when its charge is durable. */
  last(charged: Charged): Uint8Array;
  reported(): ReportedUsage;
  delivered(): Delivered;
  /** The elements of the content list so far. */
  elements(): number;
  upstreamId(): string | null;
  /** The model that the answer names. */
  model(): string | null;
};

/** For an image or a sound, which is not parsed. It is whole, and delivered, when its bytes end. */
export function bytesTap(): WholeTap {
  let waiting: Uint8Array | undefined;
  let bytes = 0;
  let isOver = false;
  return {
    push(chunk) {
      if (chunk.length === 0) return undefined;
      const passed = waiting;
      waiting = chunk;
      bytes += chunk.length;
      return passed;
    },
    end() {
      isOver = true;
    },
    state: () => (isOver && bytes > 0 ? "done" : "open"),
    fault: () => null,
    last: () => waiting ?? new Uint8Array(),
    reported: () => nothingReported,
    delivered: () => ({ bytes, events: isOver && bytes > 0 ? 1 : 0 }),
    elements: () => 0,
    upstreamId: () => null,
    model: () => null,
  };
}
