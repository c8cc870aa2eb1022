import type { Bill } from "./billing.ts";
import type { ChatRequest } from "./chat-request.ts";
import { usdFromAtto } from "./decimal.ts";
import type { Exchange } from "./exchange.ts";
import { falseUsage, streamShape } from "./faults.ts";
import { chooseFault, type Job } from "./job.ts";
import { markerNumber } from "./markers.ts";
import { passageLength } from "./passage.ts";
import { textLines, type Usage } from "./pricing.ts";
import { type ScriptedAnswer, writeScripted } from "./script.ts";
import type { StreamShape } from "./stream-shape.ts";
import { type AnswerText, startPosition } from "./tokens.ts";

/** Completion tokens of an answer without a marker. English answers go on to the end of the sentence. */
const USUAL_TOKENS = 20;
const REMAP_TARGET = "sim-large";

export type FinishReason = "stop" | "length" | "content_filter" | "tool_calls";

/** The plan of an answer, made before its first byte. Its units are completion tokens of all choices. */
export interface ChatJob extends Job {
  readonly request: ChatRequest;
  readonly createdSeconds: number;
  readonly shape: StreamShape;
  readonly text: AnswerText;
  readonly start: number;
  /** Tokens of each choice. The first `reasoning` of them are reasoning. */
  readonly perChoice: number;
  readonly reasoning: number;
  readonly finish: FinishReason;
  /** The answer of the conversation's script; null without a script. */
  readonly scripted: ScriptedAnswer | null;
  readonly dripMs: number;
  usage(units: number): Usage;
}

export function planChat(x: Exchange, request: ChatRequest): ChatJob {
  const { markers } = request;
  const fault = chooseFault(x, markers, request.model);
  const model = (fault === "remap" ? x.sim.catalogue.find(REMAP_TARGET) : null) ?? request.model;
  const callId = `call_${x.sim.seedText}${x.sequence}`;
  const scripted = request.script === null ? null : writeScripted(request.script, callId);
  const start = startPosition(x.sim.seed ^ request.seed, request.text);
  const wanted =
    scripted?.deltas.length ?? markerNumber(markers, "tokens") ?? usualTokens(x.sim.settings.answerText, start);
  const perChoice = Math.min(wanted, request.maxTokens);
  const reasoning = Math.min(scripted?.reasoning ?? markerNumber(markers, "reasoning") ?? 0, perChoice);
  // The excess is reported and billed.
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
    markers,
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
    lines: (units) => textLines(model.id, model.rates, usage(units)),
  };
}

function usualTokens(text: AnswerText, start: number): number {
  return text === "english" ? passageLength(start, USUAL_TOKENS) : USUAL_TOKENS;
}

function finishOf(request: ChatRequest, wanted: number): FinishReason {
  const asked = request.markers.get("finish");
  if (asked === "content_filter") return asked;
  if (asked === "tool_calls" && request.firstTool !== null) return asked;
  return wanted > request.maxTokens ? "length" : "stop";
}

export function reportedUsage(job: ChatJob): string {
  const usage = job.usage(job.units);
  return falseUsage(job.fault, usage) ?? usageJson(usage, job.model.rates.base.cacheInput !== null);
}

function usageJson(usage: Usage, withCache: boolean): string {
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage;
  const cache = { cached_tokens: cachedTokens, cache_creation_input_tokens: cacheWriteTokens };
  return JSON.stringify({
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    ...(withCache || cachedTokens > 0 || cacheWriteTokens > 0 ? { prompt_tokens_details: cache } : {}),
    ...(reasoningTokens > 0 ? { completion_tokens_details: { reasoning_tokens: reasoningTokens } } : {}),
  });
}

/** `,"cost":{...}`, split by the currency that paid. */
export function costField({ usdAtto, diemAtto }: Bill): string {
  return `,"cost":{"usd":${usdFromAtto(usdAtto)},"diem":${usdFromAtto(diemAtto)}}`;
}

/** The beginning of an answer's tool call, up to its arguments. */
export function toolCallStart(job: ChatJob, choice: number): string {
  const id = `call_${job.x.sim.seedText}${job.x.sequence}_${choice}`;
  return `"id":"${id}","type":"function","function":{"name":${JSON.stringify(job.request.firstTool)},"arguments":`;
}

export function overloadedJson(moreFields = ""): string {
  const message = "The model is currently overloaded. Please try again later.";
  const error = JSON.stringify({ message, code: "model_overloaded", retry_after: 30 });
  return `{"error":${error}${moreFields}}`;
}
