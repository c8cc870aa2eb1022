import { type ErrorBody, errorBody } from "@inference/protocol/errors";
import { anthropicError } from "../../http/anthropic-error.ts";
import { asObject, type JsonObject, parseJson } from "../../json-object.ts";
import { type AnswerPart, createAnswerParts } from "./answer-parts.ts";
import type { AnswerWriter, Charged, WriterContext } from "./answer-writer.ts";
import { withCost } from "./usage-json.ts";

/** Writes an answer of the Messages API. */
export function createMessagesWriter(requestedModel: string, context: WriterContext): AnswerWriter {
  let text = "";
  let length = 0;
  let isStarted = false;
  let model = requestedModel;
  let reason = "stop";
  let isRefused = false;
  let hasCalled = false;
  let final = "";
  let calls = 0;
  /** The blocks that are complete, as JSON. */
  const content: string[] = [];
  let beforeDelta = "";

  const parts = createAnswerParts({ open, delta, close }, () => `toolu_${context.id}_${calls++}`, context.secrets);

  /** @param fields JSON members. */
  function event(type: string, fields: string): void {
    text += `event: ${type}\ndata: {"type":"${type}"${fields === "" ? "" : `,${fields}`}}\n\n`;
  }

  function message(stopReason: string | null, usage: string): string {
    const head = JSON.stringify({ id: `msg_${context.id}`, type: "message", role: "assistant", model });
    const stop = `"stop_reason":${JSON.stringify(stopReason)},"stop_sequence":null`;
    return `${head.slice(0, -1)},"content":[${content.join(",")}],${stop},"usage":${usage}}`;
  }

  function start(answer: JsonObject): void {
    if (isStarted) return;
    isStarted = true;
    if (typeof answer.model === "string" && answer.model !== "") model = answer.model;
    event("message_start", `"message":${message(null, usageJson(undefined))}`);
  }

  function open(part: AnswerPart): void {
    const at = `"index":${content.length}`;
    if (part.kind === "call") hasCalled = true;
    event("content_block_start", `${at},"content_block":${blockJson({ ...part, text: "" }, "")}`);
    const [type, field] = DELTAS[part.kind];
    beforeDelta = `event: content_block_delta\ndata: {"type":"content_block_delta",${at},"delta":{"type":"${type}","${field}":`;
  }

  function delta(part: AnswerPart, added: string): void {
    length += added.length;
    // Clients fail with an input that is no JSON, so it is sent when it is known to be an object.
    if (part.kind === "call") return;
    text += `${beforeDelta}${JSON.stringify(added)}}}\n\n`;
    if (part.kind === "refusal") isRefused = true;
  }

  function close(part: AnswerPart): void {
    const at = `"index":${content.length}`;
    const signature = part.kind === "reasoning" ? (context.seal(part.text) ?? "") : "";
    if (part.kind === "reasoning") {
      const sealed = JSON.stringify(signature);
      event("content_block_delta", `${at},"delta":{"type":"signature_delta","signature":${sealed}}`);
    }
    if (part.kind === "call") text += `${beforeDelta}${JSON.stringify(inputOf(part.text))}}}\n\n`;
    event("content_block_stop", at);
    content.push(blockJson(part, signature));
  }

  function blockJson(part: AnswerPart, signature: string): string {
    if (part.kind === "reasoning") return JSON.stringify({ type: "thinking", thinking: part.text, signature });
    if (part.kind !== "call") return JSON.stringify({ type: "text", text: part.text });
    const call = JSON.stringify({ type: "tool_use", id: part.id, name: part.name });
    return `${call.slice(0, -1)},"input":${inputOf(part.text)}}`;
  }

  function fail(error: ErrorBody["error"]): void {
    const { type, ...rest } = anthropicError(error, context.requestId);
    event(type, JSON.stringify(rest).slice(1, -1));
  }

  return {
    start,
    add: parts.add,
    finish(why) {
      reason = why;
    },
    end(charged) {
      start({});
      parts.end(reason !== "length");
      // Some providers say `stop` after a call that was required.
      const why = reason === "stop" && hasCalled ? "tool_calls" : reason;
      if (why === "error") {
        fail(errorBody({ code: "upstream_error", message: "The provider's model failed." }).error);
        return;
      }
      const stop = isRefused ? "refusal" : (STOP_REASONS.get(why) ?? "end_turn");
      const usage = usageJson(charged);
      event("message_delta", `"delta":{"stop_reason":"${stop}","stop_sequence":null},"usage":${usage}`);
      event("message_stop", "");
      final = message(stop, usage);
    },
    fail,
    take() {
      const taken = text;
      text = "";
      return taken;
    },
    keepAlive: () => (isStarted ? 'event: ping\ndata: {"type":"ping"}\n\n' : ""),
    length: () => length,
    whole: () => final,
  };
}

const STOP_REASONS: ReadonlyMap<string, string> = new Map([
  ["stop", "end_turn"],
  ["tool_calls", "tool_use"],
  ["length", "max_tokens"],
  ["content_filter", "refusal"],
]);

/** A call's arguments, if they are an object; else one without members. */
function inputOf(given: string): string {
  return asObject(parseJson(given)) === undefined ? "{}" : given;
}

/** The delta's type and the name of its text. */
const DELTAS: Readonly<Record<AnswerPart["kind"], readonly [string, string]>> = {
  text: ["text_delta", "text"],
  refusal: ["text_delta", "text"],
  reasoning: ["thinking_delta", "thinking"],
  call: ["input_json_delta", "partial_json"],
};

/** The counts of the cache are not part of `input_tokens` here. Undefined: it is not known yet. */
function usageJson(charged: Charged | undefined): string {
  const { promptTokens = 0, completionTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = charged?.usage ?? {};
  const counts = JSON.stringify({
    input_tokens: Math.max(0, promptTokens - cacheReadTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cacheReadTokens,
    output_tokens: completionTokens,
  });
  return charged === undefined ? counts : withCost(counts, charged);
}
