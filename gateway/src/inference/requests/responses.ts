import type { ChatRequest } from "@inference/protocol/wire/chat";
import { type ResponsesItem, type ResponsesRequest, responsesRequest } from "@inference/protocol/wire/responses";
import { type FieldRefusal, fieldValidator } from "../../http/json/validate.ts";
import { asObject, isJsonObject, type JsonObject } from "../../json-object.ts";
import type { ResponsesEcho } from "../stream/responses-writer.ts";
import { type ChatTerms, limitHeader, modelMaxTokens, withOutputLimit, writeChatOrder } from "./chat-order.ts";
import { findModel, withFallbacks } from "./find-model.ts";
import type { ChatOrder, OrderContext } from "./order.ts";
import { readItems } from "./responses-messages.ts";
import { type LoweredTools, readToolChoice, readTools } from "./responses-tools.ts";
import { drop, type FieldRule, oneOf, sortFields, unpriced, unsupported } from "./sort-fields.ts";

const wholeHistory = "Nothing is stored here: send the whole conversation in `input`, and `store: false`.";

/** Fields of the Responses API that are not used. A field in no table is dropped and named, because none is sent on. */
export const responsesRules: ReadonlyMap<string, FieldRule> = new Map([
  ["store", unsupported(`${wholeHistory} Leave \`store\` out or send \`false\`.`, oneOf(false))],
  ["previous_response_id", unsupported(wholeHistory)],
  ["conversation", unsupported(wholeHistory)],
  ["prompt", unsupported("Nothing is stored here: send the text of the prompt in `instructions` and `input`.")],
  ["background", unsupported("Send `stream: true` for long answers.", oneOf(false))],
  ["truncation", unsupported("Shorten `input` yourself, and send `disabled`.", oneOf("disabled"))],
  ["max_tokens", unsupported("Send `max_output_tokens`.")],
  ["max_completion_tokens", unsupported("Send `max_output_tokens`.")],
  ["n", unsupported("There is one answer: leave it out.", oneOf(1))],
  ["response_format", unsupported("Send `text.format`.")],
  ["messages", unsupported("Send `input`.")],
  ["service_tier", unpriced("Send `auto` or `default`, or leave it out.", oneOf("auto", "default"))],
]);

const text = "parts can be `input_text`, `output_text` and `refusal`, and in a user's message `input_image`.";

const responsesRefusals: readonly FieldRefusal[] = [
  {
    at: /^input\[\d+\]\.(content|output)\[\d+\]\.type$/,
    code: "unsupported_parameter",
    advice: `${text} Send a file as text.`,
  },
  {
    at: /^input\[\d+\]\.type$/,
    code: "unsupported_parameter",
    advice:
      "items of this type are not served. For `item_reference`, send `store: false`: then clients send the items " +
      "themselves. For `compaction`, send the conversation.",
  },
];

const validate = fieldValidator(responsesRequest, responsesRefusals);

/** Fewer tokens are not worth a request of a client that set no limit: it would pay for a beginning, and try again. */
const LEAST_TOKENS = 4096;

/** POST /responses: a chat order whose answer is written as the Responses API's. */
export const parseResponsesOrder = withFallbacks(parseResponses);

function parseResponses(body: JsonObject, context: OrderContext): ChatOrder {
  const read = readResponses(body, context);
  const order = writeOrder(read, context);
  const echo = { ...read.echo, max_output_tokens: order.terms.maxTokens };
  return { ...order, answerApi: { name: "responses", tools: read.lowered, echo } };
}

/** A body of the Responses API that was sent to chat: its answer is chat's. The limit may have one of chat's names. */
export function parseResponsesAsChat(body: unknown, context: OrderContext): ChatOrder {
  const { stream_options: options, max_tokens, max_completion_tokens, ...fields } = isJsonObject(body) ? body : {};
  const max_output_tokens = fields.max_output_tokens ?? max_completion_tokens ?? max_tokens;
  const read = readResponses({ ...fields, max_output_tokens }, context);
  const asksForUsage = read.chat.stream === true && asObject(options)?.include_usage === true;
  if (asksForUsage) read.chat.stream_options = { include_usage: true };
  return writeOrder(read, context);
}

type ReadResponses = {
  chat: ChatRequest;
  model: ChatTerms["model"];
  lowered: LoweredTools;
  ignored: string[];
  /** The client's limit; undefined if the gateway chooses. */
  maxTokens: number | undefined;
  echo: Omit<ResponsesEcho, "max_output_tokens">;
};

function readResponses(body: unknown, context: OrderContext): ReadResponses {
  const { known, ignored } = sortFields(withTypes(body), responsesRequest.shape, responsesRules, drop);
  const model = findModel(known.model, "text", context);
  const request = validate(known);
  const items: readonly ResponsesItem[] =
    typeof request.input === "string" ? [{ type: "message", role: "user", content: request.input }] : request.input;
  const owner = { account: context.account, model: model.id };
  const read = readItems(items, (sealed) => context.reasoningSeal.open(owner, sealed));
  const tools = readTools([...(request.tools ?? []), ...items.flatMap(toolsOf)]);
  const all = [...ignored, ...read.ignored, ...tools.ignored];
  const choice = readToolChoice(request.tool_choice, tools.tools, all);
  const instructions: ChatRequest["messages"] =
    request.instructions === undefined ? [] : [{ role: "system", content: request.instructions }];
  const chat: ChatRequest = {
    model: model.id,
    messages: [...instructions, ...read.messages],
    ...choice,
    ...options(request),
    stream: request.stream,
    parallel_tool_calls: choice.tools && request.parallel_tool_calls,
  };
  const echo = {
    model: model.id,
    temperature: request.temperature ?? null,
    top_p: request.top_p ?? null,
    tool_choice: typeof request.tool_choice === "string" ? request.tool_choice : "auto",
    parallel_tool_calls: request.parallel_tool_calls ?? true,
  };
  const maxTokens = request.max_output_tokens;
  return { chat, model, lowered: tools.lowered, ignored: all, maxTokens, echo };
}

/** The order with the client's output limit, at most the model's; or with one that may be chosen anew. */
function writeOrder(read: ReadResponses, context: OrderContext): ChatOrder {
  const { chat, model, ignored, maxTokens: given } = read;
  const most = modelMaxTokens(model) ?? Math.max(given ?? 0, context.defaultOutputTokens);
  const wanted = Math.min(most, given ?? context.defaultOutputTokens);
  const terms: ChatTerms = { model, ignored, names: clientNames, limit: { maxTokens: wanted, modelMaxTokens: most } };
  const leastTokens = Math.min(LEAST_TOKENS, wanted);
  const order: ChatOrder = {
    ...writeChatOrder(chat, terms, context),
    waitsForBudget: true,
    headers: limitHeader(wanted),
    ...(given === undefined ? { leastTokens } : {}),
  };
  if (given !== undefined || model.contextTokens === null) return order;
  // Some providers refuse a limit that does not fit beside the prompt.
  const left = model.contextTokens - Math.ceil(order.upstreamBody.length / BYTES_A_TOKEN);
  return left >= wanted ? order : withOutputLimit(order, Math.max(left, leastTokens));
}

/** Bytes of a usual prompt for each token, rounded down. The figure only chooses a limit, and bounds no price. */
const BYTES_A_TOKEN = 3;

const clientNames = { messages: "input", maxTokens: "max_output_tokens" };

/** Clients leave the type of a message out. */
function withTypes(body: unknown): unknown {
  if (!isJsonObject(body) || !Array.isArray(body.input)) return body;
  const input = body.input.map((item: unknown) =>
    isJsonObject(item) && item.type === undefined && "role" in item ? { ...item, type: "message" } : item,
  );
  return { ...body, input };
}

/** The tools of an item: sent beside the messages, or found by the client's search. */
function toolsOf(item: ResponsesItem) {
  return item.type === "additional_tools" || item.type === "tool_search_output" ? (item.tools ?? []) : [];
}

/** The fields that chat has under other names. */
function options(request: ResponsesRequest): Partial<ChatRequest> {
  const { temperature, top_p, reasoning, text, prompt_cache_key } = request;
  return {
    ...{ temperature, top_p, prompt_cache_key },
    reasoning_effort: reasoning?.effort ?? undefined,
    verbosity: text?.verbosity ?? undefined,
    response_format: responseFormat(text?.format),
  };
}

type TextFormat = NonNullable<NonNullable<ResponsesRequest["text"]>["format"]>;

function responseFormat(format: TextFormat | null | undefined): ChatRequest["response_format"] {
  if (format == null || format.type === "text") return undefined;
  if (format.type === "json_object") return { type: "json_object" };
  const { name, description, schema, strict } = format;
  const stated = { description: description ?? undefined, schema: schema ?? undefined, strict: strict ?? undefined };
  return { type: "json_schema", json_schema: { name, ...stated } };
}

/** Whether a body for chat is one of the Responses API. Cursor sends these to chat for newer models. */
export function isResponsesBody(body: unknown): body is JsonObject {
  return isJsonObject(body) && body.input != null && body.messages == null;
}
