import type { ErrorBody } from "@inference/protocol/errors";
import { createByteOutput } from "../../bytes.ts";
import { isNothingDelivered } from "../../pricing/quote.ts";
import type { SecretFilter } from "../../upstream/secret-writings.ts";
import type { Charged } from "./answer-writer.ts";
import { readSseEvent, shownData } from "./sse-event.ts";
import type { SseFault, SseTally, SseTapResult } from "./sse-tally.ts";
import { usageEventJson } from "./usage-json.ts";

/** Writes what the client gets of each segment of a stream, and reports the segment to the tally. */
export type SseRelay = {
  segment(bytes: Uint8Array, start: number, end: number): void;
  /** The last segment, if the stream ended without the line ends that complete it. */
  lastSegment(bytes: Uint8Array): void;
  /** A segment that is not read. */
  skip(): void;
  /** The LF that belongs to the previous segment. */
  lineEnd(chunk: Uint8Array): void;
  /** Ends the stream for the client with an error. */
  close(fault: SseFault, body?: ErrorBody): void;
  /** The stream is whole: writes the usage event, if the client asked for it. */
  complete(): void;
  /** The bytes for the client since the last call. */
  take(): Uint8Array | undefined;
};

export type SseRelayOptions = {
  /** The client asked for the usage event. */
  includeUsage: boolean;
  /** The usage and the charge that the usage event shows. */
  charged(answer: Pick<SseTapResult, "usage" | "delivered">): Charged;
  /** Our error for a fault. The provider's text must not be shown. */
  errorBody(fault: SseFault): ErrorBody;
  /** Our keys at the provider, which never pass. */
  secrets: SecretFilter;
};

export const MAX_EVENT_BYTES = 2 * 1024 * 1024;

const LF = 10;
const CR = 13;
const COLON = 58;
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const EVENT_END = encoder.encode("\n\n");

export function createSseRelay(options: SseRelayOptions, tally: SseTally): SseRelay {
  const { secrets } = options;
  const output = createByteOutput();
  let lastPassed = true;

  /** @param text The bytes, decoded. */
  function pass(text: string, bytes: Uint8Array, start: number, end: number): void {
    if (tally.isClosed()) return;
    if (secrets.isIn(text)) {
      const clean = encoder.encode(withoutSecrets(text, secrets));
      output.add(clean, 0, clean.length);
      lastPassed = clean.length > 0;
    } else {
      output.add(bytes, start, end);
      lastPassed = true;
    }
  }

  function write(data: string): void {
    const bytes = encoder.encode(`data: ${secrets.remove(data)}\n\n`);
    output.add(bytes, 0, bytes.length);
  }

  function writeUsage(): void {
    if (!options.includeUsage) return;
    const result = tally.result();
    write(usageEventJson(tally.head(), options.charged(result), result.upstreamId));
  }

  function complete(): void {
    if (!tally.isClosed()) writeUsage();
  }

  function close(fault: SseFault, body = options.errorBody(fault)): void {
    if (tally.isClosed()) return;
    const { usage, delivered } = tally.result();
    // After any fault but a cut, a usage may still come.
    const isFinal = typeof usage === "object" || (fault.kind === "cut" && !isNothingDelivered(delivered));
    if (isFinal) writeUsage();
    write(JSON.stringify(body));
    tally.noteFault(fault);
  }

  function segment(bytes: Uint8Array, start: number, end: number): void {
    lastPassed = false;
    if (end - start > MAX_EVENT_BYTES && !isComment(bytes[start])) {
      close({ kind: "event_too_large" });
      return;
    }
    const text = decoder.decode(bytes.subarray(start, end));
    const event = readSseEvent(isComment(bytes[start]) ? "" : text);
    if (event.kind === "usage") tally.noteUsageEvent(event.chunk);
    else if (event.kind === "error") close({ kind: "provider_error", error: event.error });
    else if (event.kind === "malformed") close({ kind: "malformed_event" });
    else if (event.kind === "content") {
      tally.noteContentEvent(event);
      const shown = shownData(event);
      if (shown === null) pass(text, bytes, start, end);
      else if (!tally.isClosed()) write(shown);
    } else if (event.kind === "done") {
      complete();
      pass(text, bytes, start, end);
      tally.noteDone();
    } else if (event.kind === "other") pass(text, bytes, start, end);
  }

  return {
    segment,
    lastSegment(bytes) {
      const { kind } = readSseEvent(decoder.decode(bytes));
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

/** A comment line, or a blank one. */
function isComment(first: number | undefined): boolean {
  return first === COLON || first === LF || first === CR;
}

/** Removes keys. An event that cannot be read without them is dropped, and a comment becomes an empty one. */
function withoutSecrets(segment: string, secrets: SecretFilter): string {
  if (segment[0] === ":") return `:${/[\r\n]*$/.exec(segment)?.[0]}`;
  const clean = secrets.remove(segment);
  const { kind } = readSseEvent(clean);
  return kind === "content" || kind === "done" ? clean : "";
}
