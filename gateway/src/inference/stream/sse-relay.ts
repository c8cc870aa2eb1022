import type { ErrorBody } from "@inference/protocol/errors";
import { createByteOutput } from "../../bytes.ts";
import { isNothingDelivered } from "../../pricing/quote.ts";
import type { SecretFilter } from "../../upstream/secret-writings.ts";
import type { Charged } from "./answer-writer.ts";
import { readSseEvent, type SseContentEvent, shownData } from "./sse-event.ts";
import type { SseFault, SseTally, SseTapResult } from "./sse-tally.ts";
import { usageEventJson } from "./usage-json.ts";

export type RelayOptions = {
  /** The client asked for the usage event. */
  includeUsage: boolean;
  /** The usage and the charge that the usage event shows. */
  charged(answer: Pick<SseTapResult, "usage" | "delivered">): Charged;
  /** Our keys at the provider, which never pass. */
  secrets: SecretFilter;
};

/** Writes what the client gets of a stream. Nothing is written after its end or its failure. */
export type SseRelay = {
  /** A segment begins. What is not read is a segment too. */
  begin(): void;
  /** Writes the segment's content. Returns why it cannot; null if it did. */
  content(event: SseContentEvent, segment: Segment): SseFault | null;
  /** The event with the content that the relay writes, which is what is delivered. */
  counted(event: SseContentEvent): SseContentEvent;
  /** Writes a segment without content: a comment, an id, or `[DONE]`. */
  pass(segment: Segment): void;
  /** The bytes end the last segment's line. */
  endLine(bytes: Uint8Array): void;
  /** The answer is whole: writes the usage, if the client asked for it. */
  complete(): void;
  /** Writes an error that ends the stream. */
  fail(fault: SseFault, body: ErrorBody): void;
  /** The bytes for the client since the last call. */
  take(): Uint8Array | undefined;
};

/** The bytes of a segment in a chunk, and what they say. */
export type Segment = { text: string; bytes: Uint8Array; start: number; end: number };

/** Makes what writes the events for the client. */
export type MakeRelay = (options: RelayOptions, tally: SseTally) => SseRelay;

const encoder = new TextEncoder();

/** Passes a chat stream on byte for byte, but for what its client must not see. */
export function createSseRelay({ secrets, includeUsage, charged }: RelayOptions, tally: SseTally): SseRelay {
  const output = createByteOutput();
  let lastPassed = true;

  function pass({ text, bytes, start, end }: Segment): void {
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
    if (!includeUsage) return;
    const result = tally.result();
    write(usageEventJson(tally.head(), charged(result), result.upstreamId));
  }

  return {
    begin() {
      lastPassed = false;
    },
    content(event, segment) {
      const shown = shownData(event);
      if (shown === null) pass(segment);
      else write(shown);
      return null;
    },
    counted: (event) => event,
    pass,
    endLine(bytes) {
      if (lastPassed) output.add(bytes, 0, bytes.length);
    },
    complete: writeUsage,
    fail(fault, body) {
      const { usage, delivered } = tally.result();
      // After any fault but a cut, a usage may still come.
      const isFinal = typeof usage === "object" || (fault.kind === "cut" && !isNothingDelivered(delivered));
      if (isFinal) writeUsage();
      write(JSON.stringify(body));
    },
    take: output.take,
  };
}

/** Removes keys. An event that cannot be read without them is dropped, and a comment becomes an empty one. */
function withoutSecrets(segment: string, secrets: SecretFilter): string {
  if (segment[0] === ":") return `:${/[\r\n]*$/.exec(segment)?.[0]}`;
  const clean = secrets.remove(segment);
  const { kind } = readSseEvent(clean);
  return kind === "content" || kind === "done" ? clean : "";
}
