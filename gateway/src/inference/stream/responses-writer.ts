import type { ErrorBody } from "@inference/protocol/errors";
import { asObject, type JsonObject, parseJson } from "../../json-object.ts";
import type { LoweredTools } from "../requests/responses-tools.ts";
import { type AnswerPart, type CallPart, createAnswerParts } from "./answer-parts.ts";
import type { AnswerWriter, Charged, WriterContext } from "./answer-writer.ts";
import { withCost } from "./usage-json.ts";

/** The fields of the request that its answer repeats. */
export type ResponsesEcho = {
  model: string;
  temperature: number | null;
  top_p: number | null;
  tool_choice: unknown;
  parallel_tool_calls: boolean;
  max_output_tokens: number;
};

/** Writes an answer of the Responses API. */
export function createResponsesWriter(tools: LoweredTools, echo: ResponsesEcho, context: WriterContext): AnswerWriter {
  let text = "";
  let sequence = 0;
  let length = 0;
  let isStarted = false;
  let model = echo.model;
  let reason = "stop";
  let final = "";
  /** The items that are complete, as JSON. */
  const output: string[] = [];
  /** The state of the open item. */
  let itemId = "";
  let calls = 0;
  let beforeDelta = "";
  let afterDelta = "";

  const parts = createAnswerParts({ open, delta, close }, () => `call_${context.id}_${calls++}`, context.secrets);

  /** @param fields JSON members. */
  function event(type: string, fields: string): void {
    text += `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence++},${fields}}\n\n`;
  }

  function response(status: string, more: { error?: object; incomplete?: string; charged?: Charged }): string {
    const fields = JSON.stringify({
      id: `resp_${context.id}`,
      object: "response",
      created_at: Math.floor(context.at / 1000),
      status,
      background: false,
      error: more.error ?? null,
      incomplete_details: more.incomplete === undefined ? null : { reason: more.incomplete },
      instructions: null,
      ...echo,
      model,
      previous_response_id: null,
      store: false,
      tools: [],
      truncation: "disabled",
      metadata: {},
      user: null,
    });
    const usage = more.charged === undefined ? "null" : usageJson(more.charged);
    return `${fields.slice(0, -1)},"output":[${output.join(",")}],"usage":${usage}}`;
  }

  function start(answer: JsonObject): void {
    if (isStarted) return;
    isStarted = true;
    if (typeof answer.model === "string" && answer.model !== "") model = answer.model;
    const began = `"response":${response("in_progress", {})}`;
    event("response.created", began);
    event("response.in_progress", began);
  }

  /** Where the open part is. */
  function place(kind: AnswerPart["kind"]): string {
    const at = `"item_id":"${itemId}","output_index":${output.length}`;
    if (kind === "call") return at;
    return `${at},${kind === "reasoning" ? '"summary_index":0' : '"content_index":0'}`;
  }

  function open(part: AnswerPart): void {
    const kind = part.kind === "call" ? (tools.get(part.name)?.kind ?? "function") : "function";
    itemId = `${prefixOf(part, tools)}_${context.id}_${output.length}`;
    event("response.output_item.added", `"output_index":${output.length},"item":${itemJson(part, "in_progress")}`);
    const added = ADDED[part.kind];
    if (added !== undefined) event(`response.${added.event}.added`, `${place(part.kind)},"part":${added.empty}`);
    // The input of a custom tool is within JSON, and is sent when that is complete.
    beforeDelta = kind === "function" ? DELTA_EVENTS[part.kind] : "";
    afterDelta = `,${place(part.kind)},"delta":`;
  }

  function delta(part: AnswerPart, added: string): void {
    length += added.length;
    if (beforeDelta === "") return;
    text += beforeDelta + sequence++ + afterDelta + JSON.stringify(added) + (part.kind === "text" ? TEXT_END : END);
  }

  function close(part: AnswerPart, isWhole: boolean): void {
    const at = place(part.kind);
    const said = JSON.stringify(part.text);
    if (part.kind === "text") {
      event("response.output_text.done", `${at},"text":${said},"logprobs":[]`);
      event("response.content_part.done", `${at},"part":${textPart(said)}`);
    } else if (part.kind === "refusal") {
      event("response.refusal.done", `${at},"refusal":${said}`);
      event("response.content_part.done", `${at},"part":${refusalPart(said)}`);
    } else if (part.kind === "reasoning") {
      event("response.reasoning_summary_text.done", `${at},"text":${said}`);
      event("response.reasoning_summary_part.done", `${at},"part":${summaryPart(said)}`);
    } else closeCall(part, at, said);
    const item = itemJson(part, isWhole ? "completed" : "incomplete");
    event("response.output_item.done", `"output_index":${output.length},"item":${item}`);
    output.push(item);
  }

  function closeCall(part: CallPart, at: string, said: string): void {
    const lowered = tools.get(part.name);
    if (lowered?.kind === "custom") {
      const input = JSON.stringify(inputOf(part.text));
      const callId = JSON.stringify(part.id);
      event("response.custom_tool_call_input.delta", `${at},"call_id":${callId},"delta":${input}`);
      event("response.custom_tool_call_input.done", `${at},"call_id":${callId},"input":${input}`);
    } else if (lowered?.kind !== "tool_search") {
      const name = JSON.stringify(lowered?.name ?? part.name);
      event("response.function_call_arguments.done", `${at},"name":${name},"arguments":${said}`);
    }
  }

  /** The open part's item: empty when it begins, else whole. */
  function itemJson(part: AnswerPart, status: "in_progress" | "completed" | "incomplete"): string {
    const isNew = status === "in_progress";
    const said = isNew ? '""' : JSON.stringify(part.text);
    if (part.kind === "text") return messageJson(itemId, status, isNew ? "" : textPart(said));
    if (part.kind === "refusal") return messageJson(itemId, status, isNew ? "" : refusalPart(said));
    if (part.kind === "reasoning") {
      const sealed = isNew ? null : context.seal(part.text);
      const summary = isNew ? "" : summaryPart(said);
      return `{"type":"reasoning","id":"${itemId}","summary":[${summary}],"encrypted_content":${JSON.stringify(sealed)}}`;
    }
    return JSON.stringify(callItem(part, isNew, status));
  }

  function callItem(part: CallPart, isNew: boolean, status: string): object {
    const { id: call_id, name, text: given } = part;
    const lowered = tools.get(name);
    const at = { id: itemId, call_id, status };
    if (lowered?.kind === "tool_search") {
      return { type: "tool_search_call", ...at, execution: "client", arguments: isNew ? {} : (parseJson(given) ?? {}) };
    }
    const called = { name: lowered?.name ?? name, ...(lowered?.namespace ? { namespace: lowered.namespace } : {}) };
    if (lowered?.kind === "custom") {
      return { type: "custom_tool_call", ...at, ...called, input: isNew ? "" : inputOf(given) };
    }
    return { type: "function_call", ...at, ...called, arguments: isNew ? "" : given };
  }

  return {
    start,
    add: parts.add,
    finish(why) {
      reason = why;
    },
    end(charged) {
      start({});
      const incomplete = INCOMPLETE.get(reason);
      const isFailed = reason === "error";
      parts.end(incomplete === undefined && !isFailed);
      const status = isFailed ? "failed" : incomplete === undefined ? "completed" : "incomplete";
      const error = isFailed ? { error: { code: "server_error", message: "The provider's model failed." } } : {};
      final = response(status, { charged, ...error, ...(incomplete === undefined ? {} : { incomplete }) });
      event(`response.${status}`, `"response":${final}`);
    },
    fail(error) {
      start({});
      event("response.failed", `"response":${response("failed", { error: failure(error) })}`);
    },
    take() {
      const taken = text;
      text = "";
      return taken;
    },
    keepAlive() {
      if (!isStarted) return "";
      return `event: response.heartbeat\ndata: {"type":"response.heartbeat","sequence_number":${sequence++}}\n\n`;
    },
    length: () => length,
    whole: () => final,
  };
}

const INCOMPLETE: ReadonlyMap<string, string> = new Map([
  ["length", "max_output_tokens"],
  ["content_filter", "content_filter"],
]);

const textPart = (said: string): string => `{"type":"output_text","text":${said},"annotations":[],"logprobs":[]}`;
const refusalPart = (said: string): string => `{"type":"refusal","refusal":${said}}`;
const summaryPart = (said: string): string => `{"type":"summary_text","text":${said}}`;
const messageJson = (id: string, status: string, content: string): string =>
  `{"type":"message","id":"${id}","status":"${status}","role":"assistant","content":[${content}]}`;

/** The event that adds a part to its item, and the part. */
const ADDED: Readonly<Partial<Record<AnswerPart["kind"], { event: string; empty: string }>>> = {
  text: { event: "content_part", empty: textPart('""') },
  refusal: { event: "content_part", empty: refusalPart('""') },
  reasoning: { event: "reasoning_summary_part", empty: summaryPart('""') },
};

/** The beginning of a delta's event, up to its number. */
const DELTA_EVENTS: Readonly<Record<AnswerPart["kind"], string>> = {
  text: beginning("response.output_text.delta"),
  refusal: beginning("response.refusal.delta"),
  reasoning: beginning("response.reasoning_summary_text.delta"),
  call: beginning("response.function_call_arguments.delta"),
};
const TEXT_END = ',"logprobs":[]}\n\n';
const END = "}\n\n";

function beginning(type: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":`;
}

function prefixOf(part: AnswerPart, tools: LoweredTools): string {
  if (part.kind === "reasoning") return "rs";
  if (part.kind !== "call") return "msg";
  const kind = tools.get(part.name)?.kind;
  return kind === "custom" ? "ctc" : kind === "tool_search" ? "tsc" : "fc";
}

/** The raw input of a custom tool, which was lowered to a function of one string. */
function inputOf(given: string): string {
  const input = asObject(parseJson(given))?.input;
  return typeof input === "string" ? input : given;
}

function usageJson(charged: Charged): string {
  const { promptTokens, completionTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = charged.usage;
  const counts = JSON.stringify({
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + completionTokens,
  });
  return withCost(counts, charged);
}

function failure({ code, message }: ErrorBody["error"]): object {
  return { code: FINAL.get(code) ?? "server_error", message };
}

/** The codes with which Codex ends its turn. With any other it tries again, and pays again. */
const FINAL: ReadonlyMap<string, string> = new Map([
  ["content_policy_violation", "invalid_prompt"],
  ["context_length_exceeded", "context_length_exceeded"],
]);
