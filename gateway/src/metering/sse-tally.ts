import type { TokenBound } from "./bound.ts";
import type { Delivered, TokenUsage } from "./quote.ts";
import type { SseContentEvent } from "./sse-event.ts";
import type { ContentNotes } from "./sse-scan.ts";
import { parseUsage, type ReportedUsage, type UsageReading } from "./usage.ts";

export type SseFault =
  | { kind: "provider_error"; error: unknown }
  | { kind: "malformed_event" }
  | { kind: "event_too_large" }
  | { kind: "cut" };

export type SseTapResult = ReportedUsage & {
  delivered: Delivered;
  /** The provider's id of the answer. */
  upstreamId: string | null;
  finishReason: string | null;
  /** `[DONE]` was seen. */
  done: boolean;
  /** `[DONE]` or the final usage was seen: the answer is whole, whatever the socket says. */
  complete: boolean;
  fault: SseFault | null;
};

/** What was seen of a stream so far. */
export type SseTally = {
  /** Filled in place by the scan. */
  notes: ContentNotes;
  /** Nothing that comes after `[DONE]` or a fault reaches the client. */
  isClosed(): boolean;
  noteDelivered(bytes: number): void;
  noteContentEvent(event: SseContentEvent): void;
  noteUsageEvent(chunk: Record<string, unknown>): void;
  noteDone(): void;
  noteFault(fault: SseFault): void;
  /** The usage event to show; undefined if none came, or none that can be read. */
  finalUsage(): { chunk: Record<string, unknown>; usage: TokenUsage } | undefined;
  result(): SseTapResult;
};

export function createSseTally(bound: TokenBound | undefined): SseTally {
  const notes: ContentNotes = { upstreamId: null, finishReason: null };
  const delivered = { bytes: 0, events: 0 };
  let usage: UsageReading = "missing";
  let malformedUsage = false;
  let usageChunk: Record<string, unknown> | undefined;
  let done = false;
  let fault: SseFault | null = null;

  const isClosed = (): boolean => done || fault !== null;

  function noteDelivered(bytes: number): void {
    if (bytes === 0) return;
    delivered.bytes += bytes;
    delivered.events++;
  }

  function noteUsage(value: unknown): void {
    const reading = parseUsage(value, bound);
    if (reading === "malformed") malformedUsage = true;
    if (reading !== "missing") usage = reading;
  }

  return {
    notes,
    isClosed,
    noteDelivered,
    noteContentEvent(event) {
      noteUsage(event.usage);
      if (isClosed()) return;
      notes.upstreamId ??= event.upstreamId;
      notes.finishReason = event.finishReason ?? notes.finishReason;
      noteDelivered(event.bytes);
    },
    noteUsageEvent(chunk) {
      // What it is billed as is told also where the answer was an error before.
      if (typeof chunk.id === "string") notes.upstreamId ??= chunk.id;
      usageChunk = chunk;
      noteUsage(chunk.usage);
    },
    noteDone() {
      done = true;
    },
    noteFault(why) {
      fault = why;
    },
    finalUsage: () =>
      usageChunk === undefined || typeof usage !== "object" ? undefined : { chunk: usageChunk, usage },
    result() {
      const finished = usageChunk !== undefined || (usage !== "missing" && notes.finishReason !== null);
      const complete = done || (finished && fault === null);
      return { delivered: { ...delivered }, usage, malformedUsage, ...notes, done, complete, fault };
    },
  };
}
