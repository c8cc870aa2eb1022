import type { TokenBound } from "../../pricing/bound.ts";
import type { Delivered } from "../../pricing/quote.ts";
import {
  besideContent,
  parseUsage,
  type ReportedUsage,
  reportedCost,
  reportedOnce,
  type TokenUsage,
  type UsageReading,
} from "../../pricing/usage.ts";
import { type Choice, contentBytes } from "./choice-content.ts";
import type { SseContentEvent } from "./sse-event.ts";

export type SseFault =
  | { kind: "provider_error"; error: unknown }
  | { kind: "malformed_event" }
  | { kind: "event_too_large" }
  /** Content that the API of the client cannot carry. */
  | { kind: "unwritable" }
  | { kind: "cut" };

export type SseTapResult = ReportedUsage & {
  delivered: Delivered;
  /** The provider's id of the answer. */
  upstreamId: string | null;
  /** The model that answers, as the provider names it. */
  model: string | null;
  /** `[DONE]` was seen. */
  done: boolean;
  /**
   * The answer is whole, however the connection ended: `[DONE]` was seen, or a finish reason of each choice that began.
   */
  complete: boolean;
  fault: SseFault | null;
};

/** The state of a stream so far. */
export type SseTally = {
  /** Whether `[DONE]` or a fault was seen. Nothing after it is sent to the client. */
  isClosed(): boolean;
  noteContentEvent(event: SseContentEvent): void;
  noteUsageEvent(chunk: Record<string, unknown>): void;
  noteDone(): void;
  noteFault(fault: SseFault): void;
  /** The chunk of the last usage, else the first one: a usage event repeats its head. */
  head(): Record<string, unknown>;
  result(): SseTapResult;
};

/** @param index A choice's `index`. Those above 30 share a bit: no request has as many choices. */
function choiceBit(index: number): number {
  return 1 << Math.min(index, 30);
}

export function createSseTally(bound: TokenBound | undefined): SseTally {
  let upstreamId: string | null = null;
  let model: string | null = null;
  /** The choices that have begun and those that have a finish reason, a bit for each. */
  let begun = 0;
  let finished = 0;
  const delivered = { bytes: 0, events: 0 };
  let usage: UsageReading = "missing";
  let malformedUsage = false;
  let head: Record<string, unknown> | undefined;
  /** The last usage that content came after. */
  let running: TokenUsage | undefined;
  let done = false;
  let fault: SseFault | null = null;
  /** Whether a usage from here on may count content that the client does not get. */
  let isBeyond = false;
  let beyond: TokenUsage | undefined;
  let cost: Pick<ReportedUsage, "costNanoUsd"> = {};

  const isClosed = (): boolean => done || fault !== null;

  function noteDelivered(bytes: number): void {
    if (bytes === 0) return;
    delivered.bytes += bytes;
    delivered.events++;
    // A usage counts only what came before it.
    if (usage === "missing") return;
    if (typeof usage === "object") running = usage;
    usage = "missing";
  }

  function noteFinish({ index, finishReason }: Choice): void {
    const bit = choiceBit(index);
    begun |= bit;
    if (finishReason !== null) finished |= bit;
  }

  function noteUsage(chunk: Record<string, unknown>): void {
    if (upstreamId === null && typeof chunk.id === "string") upstreamId = chunk.id;
    if (model === null && typeof chunk.model === "string") model = chunk.model;
    cost = { ...cost, ...reportedCost(chunk) };
    const said = reportedOnce(parseUsage(chunk.usage, bound));
    const { usage: reading } = besideContent(said, bound, () => delivered.bytes > 0);
    head ??= chunk;
    if (reading === "missing") return;
    if (reading === "malformed") malformedUsage = true;
    if (!isBeyond) {
      usage = reading;
      head = chunk;
    } else if (typeof reading === "object") beyond = reading;
  }

  return {
    isClosed,
    noteContentEvent({ chunk, choices }) {
      let bytes = 0;
      for (const { content } of choices) bytes += contentBytes(content);
      if (!isClosed()) {
        noteDelivered(bytes);
        for (const choice of choices) noteFinish(choice);
      } else if (bytes > 0) isBeyond = true;
      noteUsage(chunk);
    },
    noteUsageEvent: noteUsage,
    noteDone() {
      done = true;
      isBeyond = true;
    },
    noteFault(why) {
      fault = why;
      // After an error of the provider's, a usage is that of what came before. Other faults are content that is lost.
      isBeyond = why.kind !== "provider_error";
    },
    head: () => head ?? {},
    result() {
      const isFinished = begun !== 0 && (begun & ~finished) === 0;
      const complete = done || (isFinished && fault === null);
      const seen = running === undefined ? delivered : { ...delivered, atLeast: running };
      const reported = { usage, malformedUsage, ...cost, ...(beyond === undefined ? {} : { beyond }) };
      return { delivered: { ...seen }, ...reported, upstreamId, model, done, complete, fault };
    },
  };
}
