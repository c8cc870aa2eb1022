import type { ErrorBody } from "@inference/protocol/errors";
import type { NanoUsd } from "@inference/protocol/money";
import type { TokenBound } from "./bound.ts";
import { createByteBuffer } from "./byte-buffer.ts";
import { createByteOutput } from "./byte-output.ts";
import type { TokenUsage } from "./quote.ts";
import { payloadEnd, payloadStart, readSseEvent } from "./sse-event.ts";
import { scanContent } from "./sse-scan.ts";
import { createSseSplitter } from "./sse-splitter.ts";
import { createSseTally, type SseFault, type SseTally, type SseTapResult } from "./sse-tally.ts";
import { usageEventJson } from "./usage-event.ts";

export type { SseFault, SseTapResult } from "./sse-tally.ts";

/**
 * What metering does to a provider's event stream:
 *
 * - content events and comments pass byte for byte, as soon as they are complete; so do events of kinds nobody knows;
 * - a usage event (no choices) is held until the stream's end: it is swallowed, or, if the client asked for it, written anew with
 *   what it cost, once, whatever number of them came. The last usage that can be read counts;
 * - a usage inside a content event counts as well, and passes as the content that it is;
 * - an error event becomes one of ours and ends the stream. So do data that is no JSON and an event of more than 2 MiB;
 * - after `[DONE]` or an error nothing passes; a usage that still comes is read;
 * - events with empty data are dropped: clients fail to parse them.
 *
 * What goes out, and what was seen, never depends on how the bytes came in chunks.
 */
export type SseTap = {
  /** What to send to the client now. It may be the chunk itself, or a view of it. */
  push(chunk: Uint8Array): Uint8Array | undefined;
  /** Call once when the provider's stream ends or breaks: the usage event that was held, or the error that ends a cut stream. */
  end(cut?: ErrorBody): Uint8Array | undefined;
  /** So far. */
  result(): SseTapResult;
};

export type SseTapOptions = {
  /** The client asked for the usage event. */
  includeUsage: boolean;
  /** What is charged for a usage, to be shown in the usage event. */
  costNanoUsd(usage: TokenUsage): NanoUsd;
  /** Our words for what went wrong; the provider's are in `error` and are not fit to be shown as they are. */
  errorBody(fault: SseFault): ErrorBody;
  /** Tells a plausible usage from an absurd one. */
  bound?: TokenBound | undefined;
};

export const MAX_EVENT_BYTES = 2 * 1024 * 1024;

export function createSseTap(options: SseTapOptions): SseTap {
  const splitter = createSseSplitter();
  const held = createByteBuffer();
  const tally = createSseTally(options.bound);
  const relay = createRelay(options, tally);
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

type Relay = {
  /** One segment of the stream, whole. */
  segment(bytes: Uint8Array, start: number, end: number): void;
  /** The last one, if the stream ended without the line ends that complete it. */
  lastSegment(bytes: Uint8Array): void;
  /** A segment that is not looked at. */
  skip(): void;
  /** The LF that belongs to the segment before. */
  lineEnd(chunk: Uint8Array): void;
  close(fault: SseFault, body?: ErrorBody): void;
  complete(): void;
  /** What goes to the client. */
  take(): Uint8Array | undefined;
};

const LF = 10;
const CR = 13;
const COLON = 58;
const encoder = new TextEncoder();
const EVENT_END = encoder.encode("\n\n");

/** Decides of each segment what of it goes to the client. */
function createRelay(options: SseTapOptions, tally: SseTally): Relay {
  const output = createByteOutput();
  let lastPassed = true;

  function pass(bytes: Uint8Array, start: number, end: number): void {
    if (tally.isClosed()) return;
    output.add(bytes, start, end);
    lastPassed = true;
  }

  function write(data: string): void {
    const bytes = encoder.encode(`data: ${data}\n\n`);
    output.add(bytes, 0, bytes.length);
  }

  function complete(): void {
    const final = tally.finalUsage();
    if (!options.includeUsage || final === undefined || tally.isClosed()) return;
    const { chunk, usage } = final;
    write(
      usageEventJson(chunk, { usage, costNanoUsd: options.costNanoUsd(usage), upstreamId: tally.notes.upstreamId }),
    );
  }

  function close(fault: SseFault, body = options.errorBody(fault)): void {
    if (tally.isClosed()) return;
    complete();
    write(JSON.stringify(body));
    tally.noteFault(fault);
  }

  function parsedSegment(bytes: Uint8Array, start: number, end: number): void {
    const event = readSseEvent(bytes.subarray(start, end));
    if (event.kind === "usage") tally.noteUsageEvent(event.chunk);
    else if (event.kind === "error") close({ kind: "provider_error", error: event.error });
    else if (event.kind === "malformed") close({ kind: "malformed_event" });
    else if (event.kind === "other") pass(bytes, start, end);
    else if (event.kind === "content") {
      tally.noteUsage(event.usage);
      if (tally.isClosed()) return;
      tally.notes.upstreamId ??= event.upstreamId;
      tally.notes.finishReason = event.finishReason ?? tally.notes.finishReason;
      tally.noteContent(event.bytes);
      pass(bytes, start, end);
    } else if (event.kind === "done") {
      complete();
      pass(bytes, start, end);
      tally.noteDone();
    }
  }

  function segment(bytes: Uint8Array, start: number, end: number): void {
    lastPassed = false;
    const first = bytes[start];
    if (first === COLON || first === LF || first === CR) {
      pass(bytes, start, end);
    } else if (end - start > MAX_EVENT_BYTES) {
      close({ kind: "event_too_large" });
    } else {
      const payload = tally.isClosed() ? -1 : payloadStart(bytes, start);
      const count = payload === -1 ? -1 : scanContent(bytes, payload, payloadEnd(bytes, end), tally.notes);
      if (count === -1) {
        parsedSegment(bytes, start, end);
      } else {
        tally.noteContent(count);
        pass(bytes, start, end);
      }
    }
  }

  return {
    segment,
    lastSegment(bytes) {
      const { kind } = readSseEvent(bytes);
      if (kind === "other" || kind === "malformed") return;
      segment(bytes, 0, bytes.length);
      if (lastPassed) output.add(EVENT_END, 0, EVENT_END.length);
    },
    skip() {
      lastPassed = false;
    },
    lineEnd(chunk) {
      if (lastPassed) output.add(chunk, 0, 1);
    },
    close,
    complete,
    take: output.take,
  };
}
