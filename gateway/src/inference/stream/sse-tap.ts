import type { ErrorBody } from "@inference/protocol/errors";
import { createByteBuffer } from "../../bytes.ts";
import type { TokenBound } from "../../pricing/bound.ts";
import { readSseEvent } from "./sse-event.ts";
import { createSseRelay, type MakeRelay, type RelayOptions, type Segment } from "./sse-relay.ts";
import { createSseSplitter } from "./sse-splitter.ts";
import { createSseTally, type SseFault, type SseTapResult } from "./sse-tally.ts";

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

export type SseTapOptions = RelayOptions & {
  /** Tells a plausible usage from an absurd one. */
  bound?: TokenBound | undefined;
  /** Our error for a fault. The provider's text must not be shown. */
  errorBody(fault: SseFault): ErrorBody;
};

export const MAX_EVENT_BYTES = 2 * 1024 * 1024;

const LF = 10;
const CR = 13;
const COLON = 58;
const EVENT_END = Buffer.from("\n\n");
const decoder = new TextDecoder();

export function createSseTap(options: SseTapOptions, makeRelay: MakeRelay = createSseRelay): SseTap {
  const splitter = createSseSplitter();
  const held = createByteBuffer();
  const tally = createSseTally(options.bound);
  const relay = makeRelay(options, tally);
  /** The open event is too large and is skipped. */
  let skipping = false;

  function complete(): void {
    if (!tally.isClosed()) relay.complete();
  }

  function close(fault: SseFault, body = options.errorBody(fault)): void {
    if (tally.isClosed()) return;
    relay.fail(fault, body);
    tally.noteFault(fault);
  }

  function pass(segment: Segment): void {
    if (!tally.isClosed()) relay.pass(segment);
  }

  function read(bytes: Uint8Array, start: number, end: number): void {
    relay.begin();
    const hasFields = !isComment(bytes[start]);
    if (hasFields && end - start > MAX_EVENT_BYTES) {
      close({ kind: "event_too_large" });
      return;
    }
    const text = decoder.decode(bytes.subarray(start, end));
    const segment = { text, bytes, start, end };
    const event = readSseEvent(hasFields ? text : "");
    if (event.kind === "usage") tally.noteUsageEvent(event.chunk);
    else if (event.kind === "error") close({ kind: "provider_error", error: event.error });
    else if (event.kind === "malformed") close({ kind: "malformed_event" });
    else if (event.kind === "content") {
      const fault = tally.isClosed() ? null : relay.content(event, segment);
      if (fault !== null) close(fault);
      tally.noteContentEvent(relay.counted(event));
    } else if (event.kind === "done") {
      complete();
      pass(segment);
      tally.noteDone();
    } else if (event.kind === "other") pass(segment);
  }

  /** The last segment, if the stream ended without the line ends that complete it. */
  function readLast(bytes: Uint8Array): void {
    const { kind } = readSseEvent(decoder.decode(bytes));
    if (kind === "other" || kind === "malformed") return;
    read(bytes, 0, bytes.length);
    relay.endLine(EVENT_END);
  }

  function hold(chunk: Uint8Array, from: number): void {
    if (from === chunk.length || skipping) return;
    held.append(chunk, from, chunk.length);
    if (held.length <= MAX_EVENT_BYTES) return;
    skipping = true;
    held.take();
    close({ kind: "event_too_large" });
  }

  function segmentEnds(chunk: Uint8Array, from: number, end: number): void {
    if (skipping) {
      skipping = false;
      relay.begin();
    } else if (held.length === 0) {
      read(chunk, from, end);
    } else {
      held.append(chunk, from, end);
      const whole = held.take();
      read(whole, 0, whole.length);
    }
  }

  return {
    push(chunk) {
      let from = 0;
      if (splitter.completesLineEnd(chunk)) {
        from = 1;
        relay.endLine(chunk.subarray(0, 1));
      }
      for (let end = splitter.next(chunk, from); end !== -1; end = splitter.next(chunk, from)) {
        segmentEnds(chunk, from, end);
        from = end;
      }
      hold(chunk, from);
      return relay.take();
    },
    end(cut) {
      if (held.length > 0) readLast(held.take());
      if (tally.result().complete) complete();
      else close({ kind: "cut" }, cut);
      return relay.take();
    },
    result: tally.result,
  };
}

/** A comment line, or a blank one. */
function isComment(first: number | undefined): boolean {
  return first === COLON || first === LF || first === CR;
}
