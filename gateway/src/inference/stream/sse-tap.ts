import type { ErrorBody } from "@inference/protocol/errors";
import { createByteBuffer } from "../../bytes.ts";
import type { TokenBound } from "../../pricing/bound.ts";
import { createSseRelay, MAX_EVENT_BYTES, type SseRelay, type SseRelayOptions } from "./sse-relay.ts";
import { createSseSplitter } from "./sse-splitter.ts";
import { createSseTally, type SseTally, type SseTapResult } from "./sse-tally.ts";

export type { SseFault, SseTapResult } from "./sse-tally.ts";

/**
 * The rules for a provider's event stream:
 *
 * - Content events, comments and events without data pass byte for byte, as soon as they are complete.
 * - A content event with members that are not part of an answer, such as a usage, is written again without them. Data
 *   without choices does not pass.
 * - A usage is read in any event, and never passes. The last one counts, even if it is malformed, unless content
 *   comes after it. A client that asked for the usage gets it once, at the stream's end, with its cost.
 * - An error event becomes one of ours and ends the stream. So do data that is not JSON and an event above 2 MiB.
 * - After `[DONE]` or an error nothing passes. A usage that still comes is read.
 * - Events with empty data are dropped, because clients fail to parse them.
 * - Our keys are removed from all that passes, from each event and each comment by itself. A key that is divided
 *   between two events is not found.
 *
 * The output and the result never depend on how the bytes are cut into chunks.
 */
export type SseTap = {
  /** Returns the bytes for the client. It may be the chunk itself, or a view of it. */
  push(chunk: Uint8Array): Uint8Array | undefined;
  /**
   * Call it once, when the provider's stream ends or breaks off. Returns the usage event that was held, or the error
   * that ends a stream that was cut.
   */
  end(cut?: ErrorBody): Uint8Array | undefined;
  /** The state of the stream so far. */
  result(): SseTapResult;
};

export type SseTapOptions = SseRelayOptions & {
  /** Tells a plausible usage from an absurd one. */
  bound?: TokenBound | undefined;
};

/** Makes what writes the events for the client. */
export type MakeRelay = (options: SseRelayOptions, tally: SseTally) => SseRelay;

export function createSseTap(options: SseTapOptions, makeRelay: MakeRelay = createSseRelay): SseTap {
  const splitter = createSseSplitter();
  const held = createByteBuffer();
  const tally = createSseTally(options.bound);
  const relay = makeRelay(options, tally);
  /** The open event is too large and is skipped. */
  let skipping = false;

  function hold(chunk: Uint8Array, from: number): void {
    if (from === chunk.length || skipping) return;
    held.append(chunk, from, chunk.length);
    if (held.length <= MAX_EVENT_BYTES) return;
    skipping = true;
    held.take();
    relay.close({ kind: "event_too_large" });
  }

  function segmentEnds(chunk: Uint8Array, from: number, end: number): void {
    if (skipping) {
      skipping = false;
      relay.skip();
    } else if (held.length === 0) {
      relay.segment(chunk, from, end);
    } else {
      held.append(chunk, from, end);
      const whole = held.take();
      relay.segment(whole, 0, whole.length);
    }
  }

  return {
    push(chunk) {
      let from = 0;
      if (splitter.completesLineEnd(chunk)) {
        from = 1;
        relay.lineEnd(chunk);
      }
      for (let end = splitter.next(chunk, from); end !== -1; end = splitter.next(chunk, from)) {
        segmentEnds(chunk, from, end);
        from = end;
      }
      hold(chunk, from);
      return relay.take();
    },
    end(cut) {
      if (held.length > 0) relay.lastSegment(held.take());
      const { complete } = tally.result();
      if (complete) relay.complete();
      else relay.close({ kind: "cut" }, cut);
      return relay.take();
    },
    result: tally.result,
  };
}
