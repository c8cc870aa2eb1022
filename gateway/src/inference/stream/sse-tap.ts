import type { ErrorBody } from "@inference/protocol/errors";
import type { TokenBound } from "../../pricing/bound.ts";
import { createByteBuffer } from "./byte-buffer.ts";
import { createSseRelay, MAX_EVENT_BYTES, type SseRelayOptions } from "./sse-relay.ts";
import { createSseSplitter } from "./sse-splitter.ts";
import { createSseTally, type SseTapResult } from "./sse-tally.ts";

export type { SseFault, SseTapResult } from "./sse-tally.ts";

/**
 * What metering does to a provider's event stream:
 *
 * - content events, comments and events without data pass byte for byte, as soon as they are complete;
 * - a content event with members that are no part of an answer, among them a usage, passes without them, written anew.
 *   Data without choices does not pass;
 * - a usage is read wherever it comes and never passes. The last one counts, also one that cannot be read, unless
 *   content comes after it. A client that asked for it is shown it at the stream's end, once, with what it cost;
 * - an error event becomes one of ours and ends the stream. So do data that is no JSON and an event of more than 2 MiB;
 * - after `[DONE]` or an error nothing passes; a usage that still comes is read;
 * - events with empty data are dropped: clients fail to parse them;
 * - a key of ours is removed from whatever passes. Each event and each comment is looked at by itself: a key of which
 *   two of them have a part each, as content that a client joins, is not found.
 *
 * What goes out, and what was seen, never depends on how the bytes came in chunks.
 */
export type SseTap = {
  /** What to send to the client now. It may be the chunk itself, or a view of it. */
  push(chunk: Uint8Array): Uint8Array | undefined;
  /**
   * Call once when the provider's stream ends or breaks: the usage event that was held, or the error that ends a cut
   * stream.
   */
  end(cut?: ErrorBody): Uint8Array | undefined;
  /** So far. */
  result(): SseTapResult;
};

export type SseTapOptions = SseRelayOptions & {
  /** Tells a plausible usage from an absurd one. */
  bound?: TokenBound | undefined;
};

export function createSseTap(options: SseTapOptions): SseTap {
  const splitter = createSseSplitter();
  const held = createByteBuffer();
  const tally = createSseTally(options.bound);
  const relay = createSseRelay(options, tally);
  /** The event that is open is too large: it is skipped. */
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
