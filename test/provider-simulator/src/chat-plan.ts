import type { ChatRequest } from "./chat-request.ts";
import { type Exchange, providerHeaders } from "./exchange.ts";
import { chooseFault } from "./fault-choice.ts";
import type { Job } from "./job.ts";
import { markerNumber } from "./markers.ts";
import { passageLength } from "./passage.ts";
import { type ChargeLine, chargeLine, rate, textLines, type Usage } from "./pricing.ts";
import { type ScriptedAnswer, writeScripted } from "./script.ts";
import type { Settings } from "./settings.ts";
import { type StreamShape, streamShape } from "./stream-shape.ts";
import { type AnswerText, startPosition } from "./tokens.ts";
import { faultyUsageJson, usageJson } from "./usage-report.ts";

const SEARCH = rate("10");
const SCRAPE = rate("0.01");
const REMAP_TARGET = "sim-large";

export type FinishReason = "stop" | "length" | "content_filter" | "tool_calls";

/** Everything about an answer, decided before its first byte. Its units are completion tokens of all choices. */
export interface ChatJob extends Job {
  readonly request: ChatRequest;
  readonly createdSeconds: number;
  readonly shape: StreamShape;
  readonly fault: string | null;
  readonly text: AnswerText;
  readonly start: number;
  /** Tokens of each choice, the first `reasoning` of which are thought and not said. */
  readonly perChoice: number;
  readonly reasoning: number;
  readonly finish: FinishReason;
  /** What the conversation's script says; null without one. */
  readonly scripted: ScriptedAnswer | null;
  readonly dripMs: number;
  usage(units: number): Usage;
}

export function planChat(x: Exchange, request: ChatRequest): ChatJob {
  const { markers } = request;
  const fault = chooseFault(x, markers, request.model);
  const target = fault === "remap" ? REMAP_TARGET : request.model.seed.remapTo;
  const model = (target === undefined ? null : x.sim.catalogue.find(target)) ?? request.model;
  const callId = `call_${x.sim.seedText}${x.sequence}`;
  const scripted = request.script === null ? null : writeScripted(request.script, callId);
  const start = startPosition(x.sim.seed ^ request.seed, request.text);
  const wanted = scripted?.deltas.length ?? markerNumber(markers, "tokens") ?? usualTokens(x.sim.settings, start);
  const perChoice = Math.min(wanted, request.maxTokens);
  const reasoning = Math.min(scripted?.reasoning ?? markerNumber(markers, "reasoning") ?? 0, perChoice);
  // Past the maximum on purpose: what is reported here is also what is billed.
  const excess = fault === "usage-above-bound" ? request.maxTokens * request.n - perChoice * request.n + 1000 : 0;
  const cached = Math.min(markerNumber(markers, "cached") ?? 0, request.promptTokens);
  const cacheWrite = Math.min(markerNumber(markers, "cache-write") ?? 0, request.promptTokens - cached);

  const usage = (units: number): Usage => ({
    promptTokens: request.promptTokens,
    cachedTokens: cached,
    cacheWriteTokens: cacheWrite,
    completionTokens: units === 0 ? 0 : units + excess,
    reasoningTokens: Math.min(units, reasoning * request.n),
  });
  return {
    x,
    request,
    model,
    fault,
    requestId: `chatcmpl-${x.sim.seedText}${x.sequence.toString(16).padStart(10, "0")}`,
    createdSeconds: Math.floor(x.sim.now() / 1000),
    startedAtMs: x.sim.now(),
    user: request.user,
    shape: streamShape(fault),
    text: x.sim.settings.answerText,
    start,
    units: perChoice * request.n,
    perChoice,
    reasoning,
    scripted,
    finish: scripted?.hasCalls === true && wanted === perChoice ? "tool_calls" : finishOf(request, wanted),
    dripMs: markerNumber(markers, "drip") ?? x.sim.settings.dripMs,
    usage,
    lines: (units) => [...textLines(model.id, model.rates, usage(units)), ...addOnLines(request, units)],
  };
}

function usualTokens({ answerText, defaultTokens }: Settings, start: number): number {
  return answerText === "english" ? passageLength(start, defaultTokens) : defaultTokens;
}

function finishOf(request: ChatRequest, wanted: number): FinishReason {
  const asked = request.markers.get("finish");
  if (asked === "content_filter") return asked;
  if (asked === "tool_calls" && request.firstTool !== null) return asked;
  return wanted > request.maxTokens ? "length" : "stop";
}

function addOnLines(request: ChatRequest, units: number): ChargeLine[] {
  const { webSearches, scrapedUrls, xSearches } = request.addOns;
  if (units === 0) return [];
  const lines: ChargeLine[] = [];
  if (webSearches > 0) lines.push(chargeLine("web-search-request", webSearches, 1000, SEARCH));
  if (scrapedUrls > 0) lines.push(chargeLine("web-scrape-url", scrapedUrls, 1, SCRAPE));
  if (xSearches > 0) lines.push(chargeLine("x-search-request", xSearches, 1, SCRAPE));
  return lines;
}

/** The provider's headers, and the warning that goes with a retired model. */
export function chatHeaders(job: ChatJob, contentType: string): string[] {
  const { sim } = job.x;
  const headers = providerHeaders(job.x, contentType, job.model);
  const asked = job.request.model;
  if (asked.seed.remapTo !== undefined) {
    headers.push(`${sim.headerPrefix}model-deprecation-warning`, `${asked.id} is retired`);
    headers.push(`${sim.headerPrefix}model-deprecation-date`, "2026-01-01");
  }
  return headers;
}

export function reportedUsage(job: ChatJob): string {
  const usage = job.usage(job.units);
  return faultyUsageJson(job.fault, usage) ?? usageJson(usage, job.model.rates.base.cacheInput !== null);
}

/** The name and the arguments' pieces of the one call an answer makes. */
export function toolCallStart(job: ChatJob, choice: number): string {
  const id = `call_${job.x.sim.seedText}${job.x.sequence}_${choice}`;
  return `"id":"${id}","type":"function","function":{"name":${JSON.stringify(job.request.firstTool)},"arguments":`;
}

export function overloadedJson(moreFields = ""): string {
  const message = "The model is currently overloaded. Please try again later.";
  const error = JSON.stringify({ message, code: "model_overloaded", retry_after: 30 });
  return `{"error":${error}${moreFields}}`;
}
