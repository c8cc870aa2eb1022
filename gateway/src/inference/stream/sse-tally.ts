import type { TokenBound } from "../../pricing/bound.ts";
import type { Delivered, TokenUsage } from "../../pricing/quote.ts";
import { besideContent, parseUsage, type ReportedUsage, reportedOnce, type UsageReading } from "../../pricing/usage.ts";
import type { SseContentEvent } from "./sse-event.ts";

export type SseFault =
  | { kind: "provider_error"; error: unknown }
  | { kind: "malformed_event" }
  | { kind: "event_too_large" }
  | { kind: "cut" };

export type SseTapResult = ReportedUsage & {
  delivered: Delivered;
  /** The provider's id of the answer. */
  upstreamId: string | null;
  /** The model that answers, as the provider names it. */
  model: string | null;
  finishReason: string | null;
  /** `[DONE]` was seen. */
  done: boolean;
  /**
   * The answer is whole, however the connection ended: `[DONE]` was seen, or a finish reason of each choice that began.
   */
  complete: boolean;
  fault: SseFault | null;
};

/** What was seen of a stream so far. */
export type SseTally = {
  /** Whether `[DONE]` or a fault was seen. Nothing after it is sent to the client. */
  isClosed(): boolean;
  noteContentEvent(event: SseContentEvent): void;
  noteUsageEvent(chunk: Record<string, unknown>): void;
  noteDone(): void;
  noteFault(fault: SseFault): void;
  /** The usage to show, and its chunk; undefined if there is none that is final and valid. */
  finalUsage(): { chunk: Record<string, unknown>; usage: TokenUsage } | undefined;
  result(): SseTapResult;
};

/** @param index A choice's `index`. Those above 30 share a bit: no request has as many choices. */
function choiceBit(index: number): number {
  return 1 << Math.min(index, 30);
}

export function createSseTally(bound: TokenBound | undefined): SseTally {
  let upstreamId: string | null = null;
  let model: string | null = null;
  let finishReason: string | null = null;
  /** The choices that have begun and those that have a finish reason, a bit for each. */
  let begun = 0;
  let finished = 0;
  const delivered = { bytes: 0, events: 0, halfTokens: 0 };
  let usage: UsageReading = "missing";
  let malformedUsage = false;
  let usageChunk: Record<string, unknown> | undefined;
  /** The last usage that content came after. */
  let running: TokenUsage | undefined;
  let done = false;
  let fault: SseFault | null = null;

  const isClosed = (): boolean => done || fault !== null;

  function noteDelivered(bytes: number, halfTokens: number): void {
    if (bytes === 0) return;
    delivered.bytes += bytes;
    delivered.halfTokens += halfTokens;
    delivered.events++;
    // A usage counts only what came before it.
    if (usage === "missing") return;
    if (typeof usage === "object") running = usage;
    usage = "missing";
  }

  function noteUsage(chunk: Record<string, unknown>): void {
    if (upstreamId === null && typeof chunk.id === "string") upstreamId = chunk.id;
    if (model === null && typeof chunk.model === "string") model = chunk.model;
    const said = reportedOnce(parseUsage(chunk.usage, bound));
    const { usage: reading } = besideContent(said, bound, () => delivered.bytes > 0);
    if (reading === "missing") return;
    if (reading === "malformed") malformedUsage = true;
    usage = reading;
    usageChunk = chunk;
  }

  return {
    isClosed,
    noteContentEvent({ chunk, choices }) {
      // The client gets no content after the end, so it counts for nothing.
      if (!isClosed()) {
        let bytes = 0;
        let halfTokens = 0;
        for (const choice of choices) {
          const bit = choiceBit(choice.index);
          begun |= bit;
          bytes += choice.bytes;
          halfTokens += choice.halfTokens;
          if (choice.finishReason === null) continue;
          finished |= bit;
          finishReason = choice.finishReason;
        }
        noteDelivered(bytes, halfTokens);
      }
      noteUsage(chunk);
    },
    // A usage counts even after an error.
    noteUsageEvent: noteUsage,
    noteDone() {
      done = true;
    },
    noteFault(why) {
      fault = why;
    },
    finalUsage: () =>
      usageChunk === undefined || typeof usage !== "object" ? undefined : { chunk: usageChunk, usage },
    result() {
      const isFinished = begun !== 0 && (begun & ~finished) === 0;
      const complete = done || (isFinished && fault === null);
      const seen = running === undefined ? delivered : { ...delivered, atLeast: running };
      return { delivered: { ...seen }, usage, malformedUsage, upstreamId, model, finishReason, done, complete, fault };
    },
  };
}
