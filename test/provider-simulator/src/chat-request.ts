import type { Model } from "./catalogue.ts";
import { openaiError, schemaError, WireError } from "./errors.ts";
import { type Markers, readMarkers } from "./markers.ts";
import { readScript, type ScriptStep } from "./script.ts";
import { countTokens, TOKENS_PER_MEDIA_PART, TOKENS_PER_MESSAGE } from "./tokens.ts";
import * as is from "./validate.ts";
import { PARAMETERS_FIELD, SYSTEM_PROMPT_FIELD } from "./wire.ts";

/** Tokens of the provider's own system prompt, billed unless the request switches it off. */
export const HIDDEN_PROMPT_TOKENS = 100;

export interface ChatRequest {
  readonly model: Model;
  readonly stream: boolean;
  readonly n: number;
  /** Visible and reasoning tokens together, for each choice. */
  readonly maxTokens: number;
  readonly promptTokens: number;
  /** The text of all messages. */
  readonly text: string;
  readonly markers: Markers;
  readonly script: ScriptStep | null;
  readonly seed: number;
  readonly firstTool: string | null;
  readonly parameters: is.Body;
}

const ROLES = new Set(["user", "assistant", "tool", "system", "developer"]);
const PARTS = new Set(["text", "image_url", "input_audio", "video_url", "file"]);
const fraction = is.number(0, 1);
const penalty = is.number(-2, 2);

const SCHEMA: is.Schema = new Map<string, is.Check>([
  ["model", is.textOf(1, 200)],
  ["messages", messages],
  ["temperature", is.number(0, 2)],
  ["top_p", fraction],
  ["top_k", is.integer(0)],
  ["min_p", fraction],
  ["min_temp", is.number(0, 2)],
  ["max_temp", is.number(0, 2)],
  ["repetition_penalty", is.number(0, 10)],
  ["frequency_penalty", penalty],
  ["presence_penalty", penalty],
  ["max_completion_tokens", is.integer(-1)],
  ["max_tokens", is.integer(-1)],
  ["n", is.integer(1, 128)],
  ["seed", is.integer(Number.MIN_SAFE_INTEGER)],
  ["stop", (value) => (value === null || typeof value === "string" ? null : is.list(value))],
  ["stop_token_ids", is.list],
  ["stream", is.flag],
  ["stream_options", is.object],
  ["response_format", is.object],
  ["tools", is.list],
  ["tool_choice", (value) => (typeof value === "string" ? null : is.object(value))],
  ["parallel_tool_calls", is.flag],
  ["logprobs", is.flag],
  ["top_logprobs", is.integer(0, 20)],
  ["reasoning", is.object],
  ["reasoning_effort", is.string],
  ["prompt_cache_key", is.string],
  ["prompt_cache_retention", is.string],
  ["verbosity", is.string],
  ["text", is.object],
  ["user", is.string],
  ["anon_user_id", is.textOf(1, 128)],
  ["store", is.flag],
  ["metadata", is.object],
  ["include", is.list],
  ["fallbacks", is.list],
  [PARAMETERS_FIELD, is.object],
]);

export function readChatRequest(body: is.Body, modelOf: () => Model): ChatRequest {
  is.checkBody(body, SCHEMA, ["model", "messages"]);
  const model = modelOf();
  const given = body[PARAMETERS_FIELD];
  const parameters = is.isObject(given) ? given : {};
  const text = textOfMessages(body.messages);
  const markers = readMarkers(text);
  const promptTokens = promptTokensOf(body, markers, parameters[SYSTEM_PROMPT_FIELD] !== false);
  const context = model.seed.context ?? 131_072;
  if (promptTokens > context) {
    const message = `This model's maximum context length is ${context} tokens; the messages have ${promptTokens}.`;
    throw new WireError(openaiError(message, "messages", "context_length_exceeded"));
  }
  return {
    model,
    stream: body.stream === true,
    n: is.numberField(body, "n") ?? 1,
    maxTokens: maxTokensOf(body, model.seed.maxCompletion ?? 4096),
    promptTokens,
    text,
    markers,
    script: readScript(text, body.messages),
    seed: is.numberField(body, "seed") ?? 0,
    firstTool: firstToolOf(body.tools),
    parameters,
  };
}

function messages(value: unknown): string | null {
  if (!Array.isArray(value)) return is.list(value);
  if (value.length === 0) return "Array must contain at least 1 element(s)";
  for (const message of value) {
    const problem = is.isObject(message) ? messageProblem(message) : "Expected object";
    if (problem !== null) return problem;
  }
  return null;
}

function messageProblem(message: is.Body): string | null {
  const { role, content } = message;
  if (typeof role !== "string" || !ROLES.has(role)) return "Invalid role";
  if (typeof content === "string") return null;
  if (role === "assistant" && (content === null || content === undefined)) return null;
  if (!Array.isArray(content)) return "Invalid content: expected string or array of parts";
  for (const part of content) {
    if (!is.isObject(part) || typeof part.type !== "string" || !PARTS.has(part.type)) return "Invalid content part";
    if (part.type === "text" && typeof part.text !== "string") return "Invalid text part";
  }
  return null;
}

function textOfMessages(value: unknown): string {
  let text = "";
  for (const message of Array.isArray(value) ? value : []) {
    const content: unknown = is.isObject(message) ? message.content : null;
    if (typeof content === "string") text += content;
    for (const part of Array.isArray(content) ? content : []) {
      if (is.isObject(part) && typeof part.text === "string") text += part.text;
    }
  }
  return text;
}

/**
 * Four tokens for each message, and one for every four bytes begun of each content, tool call, the tools and the
 * response format. `[[prompt=N]]` states the count instead, in place of a long prompt.
 */
function promptTokensOf(body: is.Body, markers: Markers, withHidden: boolean): number {
  const stated = markers.get("prompt");
  if (stated !== undefined && /^\d{1,9}$/.test(stated)) return Number(stated);
  let tokens = withHidden ? HIDDEN_PROMPT_TOKENS : 0;
  for (const message of Array.isArray(body.messages) ? body.messages : []) {
    if (!is.isObject(message)) continue;
    tokens += TOKENS_PER_MESSAGE + contentTokens(message.content);
    if (message.tool_calls !== undefined) tokens += countTokens(JSON.stringify(message.tool_calls));
  }
  if (body.tools !== undefined) tokens += countTokens(JSON.stringify(body.tools));
  if (body.response_format !== undefined) tokens += countTokens(JSON.stringify(body.response_format));
  return tokens;
}

function contentTokens(content: unknown): number {
  if (typeof content === "string") return countTokens(content);
  let tokens = 0;
  for (const part of Array.isArray(content) ? content : []) {
    const text: unknown = is.isObject(part) ? part.text : null;
    tokens += typeof text === "string" ? countTokens(text) : TOKENS_PER_MEDIA_PART;
  }
  return tokens;
}

function maxTokensOf(body: is.Body, cap: number): number {
  const field = body.max_completion_tokens === undefined ? "max_tokens" : "max_completion_tokens";
  const wanted = is.numberField(body, field);
  // Zero and below are no limits; the model's maximum applies.
  if (wanted === null || wanted <= 0) return cap;
  if (wanted > cap) throw new WireError(schemaError(field, `${field} must be less than or equal to ${cap}`, "too_big"));
  return wanted;
}

function firstToolOf(tools: unknown): string | null {
  const first: unknown = Array.isArray(tools) ? tools[0] : null;
  const definition = is.isObject(first) ? first.function : null;
  return is.isObject(definition) ? is.stringField(definition, "name") : null;
}
