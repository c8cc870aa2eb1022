import { fail } from "@inference/protocol/errors";
import type { ChatMessage, ChatRequest } from "@inference/protocol/wire/chat";
import {
  type CountTokensRequest,
  countTokensRequest,
  type MessagesBlock,
  type MessagesMessage,
  type MessagesRequest,
  messagesRequest,
} from "@inference/protocol/wire/messages";
import { type FieldRefusal, fieldValidator } from "../../http/json/validate.ts";
import type { JsonObject } from "../../json-object.ts";
import { type ChatTerms, limitHeader, modelMaxTokens, writeChatOrder } from "./chat-order.ts";
import { findModel, withFallbacks } from "./find-model.ts";
import { type ChatOrder, type OrderContext, writeBody } from "./order.ts";
import { type Assistant, assistantSaid, type OpenReasoning } from "./responses-messages.ts";
import { drop, type FieldRule, isEmptyList, oneOf, sortFields, unpriced } from "./sort-fields.ts";

/** Fields of the Messages API that have a price. Others that are not used are dropped and named. */
export const messagesRules: ReadonlyMap<string, FieldRule> = new Map([
  ["mcp_servers", unpriced("Run the tools yourself and send them in `tools`.", isEmptyList)],
  ["service_tier", unpriced("Send `auto` or `standard_only`, or leave it out.", oneOf("auto", "standard_only"))],
]);

const messagesRefusals: readonly FieldRefusal[] = [
  {
    at: /^tools\[\d+\]\.input_schema$/,
    code: "unpriced_option",
    advice: "a tool needs an `input_schema`. Tools that the provider runs have a price that is not modelled.",
  },
  {
    at: /\.source(\.type)?$/,
    code: "unsupported_parameter",
    advice: "images can be `base64` or `url`, and documents `text`. Send other files as text.",
  },
  {
    at: /^messages\[\d+\]\.content\[\d+\](\.content\[\d+\])?\.type$/,
    code: "unsupported_parameter",
    advice: "blocks can be `text`, `image`, `document` with text, `tool_use`, `tool_result` and `thinking`.",
  },
];

const validate = fieldValidator(messagesRequest, messagesRefusals);
const names = { messages: "messages", maxTokens: "max_tokens" };
/** The most stop sequences that chat takes. */
const MAX_STOPS = 4;

/** POST /messages: a chat order whose answer is written as the Messages API's. */
export const parseMessagesOrder = withFallbacks(parseMessages);

function parseMessages(body: JsonObject, context: OrderContext): ChatOrder {
  const { known, ignored } = sortFields(body, messagesRequest.shape, messagesRules, drop);
  const model = findModel(known.model, "text", context);
  const request = validate(known);
  const { stop_sequences: stops = [], temperature, top_p, top_k, stream } = request;
  if (stops.length > MAX_STOPS) {
    fail("invalid_request", `\`stop_sequences\` can be ${MAX_STOPS} at most.`, { param: "stop_sequences" });
  }
  const chat: ChatRequest = {
    ...readConversation(request, model, context),
    ...{ temperature, top_p, top_k, stream },
    stop: stops.length === 0 ? undefined : stops,
    reasoning_effort: effortOf(request),
  };
  const most = modelMaxTokens(model) ?? request.max_tokens;
  const maxTokens = Math.min(most, request.max_tokens);
  const terms: ChatTerms = { model, ignored, names, limit: { maxTokens, modelMaxTokens: most } };
  return {
    ...writeChatOrder(chat, terms, context),
    answerApi: { name: "messages" },
    headers: limitHeader(maxTokens),
  };
}

/** The model, the messages and the tools, as chat has them. */
function readConversation(request: CountTokensRequest, model: ChatTerms["model"], context: OrderContext): ChatRequest {
  const owner = { account: context.account, model: model.id };
  const messages = readMessagesOf(request.messages, (sealed) => context.reasoningSeal.open(owner, sealed));
  const { system, output_config: output } = request;
  const format = output?.format ?? undefined;
  const isEmpty = system === undefined || system.length === 0;
  return {
    model: model.id,
    messages: [...(isEmpty ? [] : [{ role: "system" as const, content: textContent(system) }]), ...messages],
    ...toolsOf(request),
    response_format: format && { type: "json_schema", json_schema: { name: "output", schema: format.schema } },
  };
}

type Tools = Pick<ChatRequest, "tools" | "tool_choice" | "parallel_tool_calls">;

function toolsOf({ tools = [], tool_choice: choice }: CountTokensRequest): Tools {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(({ name, description, input_schema, cache_control }) => ({
      type: "function" as const,
      function: { name, description: description ?? undefined, parameters: input_schema },
      ...cached({ cache_control }),
    })),
    tool_choice: choice && choiceOf(choice),
    parallel_tool_calls: choice?.disable_parallel_tool_use === true ? false : undefined,
  };
}

function choiceOf(choice: NonNullable<MessagesRequest["tool_choice"]>): NonNullable<ChatRequest["tool_choice"]> {
  switch (choice.type) {
    case "any":
      return "required";
    case "tool":
      return choice.name == null
        ? fail("invalid_request", "`tool_choice.name` is missing.", { param: "tool_choice.name" })
        : { type: "function", function: { name: choice.name } };
    default:
      return choice.type;
  }
}

/** A budget of thinking becomes an effort: a third of the output is little, two thirds are much. */
function effortOf({ thinking, output_config, max_tokens }: MessagesRequest): ChatRequest["reasoning_effort"] {
  const { effort } = output_config ?? {};
  if (thinking?.type === "disabled") return "none";
  if (effort != null) return effort;
  if (thinking?.type !== "enabled" || thinking.budget_tokens == null) return undefined;
  const share = thinking.budget_tokens / max_tokens;
  return share < 1 / 3 ? "low" : share < 2 / 3 ? "medium" : "high";
}

const validateCount = fieldValidator(countTokensRequest, messagesRefusals);

/** The bytes of a token in English text and in code, about. */
const BYTES_PER_TOKEN = 4;
const TOKENS_PER_IMAGE = 1600;

/** POST /messages/count_tokens: an estimate from the prompt that the same body would have as a message. */
export function parseCountTokens(body: unknown, context: OrderContext): number {
  const { known } = sortFields(body, countTokensRequest.shape, messagesRules, drop);
  const model = findModel(known.model, "text", context);
  return estimatePrompt(readConversation(validateCount(known), model, context));
}

/** An estimate of a prompt's tokens: its texts with what is around them, and its images. */
function estimatePrompt(chat: ChatRequest): number {
  let images = 0;
  const messages = chat.messages.map((message): ChatMessage => {
    if (message.role !== "user" || typeof message.content === "string") return message;
    const content = message.content.filter(({ type }) => type === "text");
    images += message.content.length - content.length;
    return { ...message, content };
  });
  return Math.ceil(writeBody({ ...chat, messages }).length / BYTES_PER_TOKEN) + TOKENS_PER_IMAGE * images;
}

type UserPart = Exclude<Extract<ChatMessage, { role: "user" }>["content"], string>[number];
type TextPart = Extract<UserPart, { type: "text" }>;
type Shown = Extract<MessagesBlock, { type: "text" | "image" | "document" }>;
type Cached = { cache_control?: { type: string } | null | undefined };

/**
 * The messages of a chat request, made of those of the Messages API. The results of tools are messages of their own,
 * before the rest of the user's message that brings them.
 */
function readMessagesOf(given: readonly MessagesMessage[], openReasoning: OpenReasoning): ChatMessage[] {
  const messages: ChatMessage[] = [];
  for (const { role, content } of given) {
    const blocks: readonly MessagesBlock[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    if (role === "assistant") messages.push(...assistantMessage(blocks, openReasoning));
    else if (role === "system") messages.push({ role, content: textContent(blocks.filter(isText)) });
    else messages.push(...userMessages(blocks));
  }
  return messages;
}

/** A text, or its parts where they say what to cache. */
export function textContent(content: string | readonly Extract<Shown, { type: "text" }>[]): string | TextPart[] {
  if (typeof content === "string") return content;
  const parts = content.map(({ text, ...block }) => textPart(text, block));
  const [first] = parts;
  if (first === undefined) return "";
  return parts.length === 1 && first.cache_control === undefined ? first.text : parts;
}

function assistantMessage(blocks: readonly MessagesBlock[], openReasoning: OpenReasoning): ChatMessage[] {
  const said: Assistant = { texts: [], reasoning: [], calls: [] };
  for (const block of blocks) {
    if (block.type === "text") said.texts.push(block.text);
    else if (block.type === "thinking" && block.signature != null) {
      const thought = openReasoning(block.signature);
      if (thought !== null) said.reasoning.push(thought);
    } else if (block.type === "tool_use") {
      const { id, name, input } = block;
      said.calls.push({ id, name, arguments: JSON.stringify(input) });
    }
  }
  return assistantSaid(said);
}

function userMessages(blocks: readonly MessagesBlock[]): ChatMessage[] {
  const results: ChatMessage[] = [];
  const rest: UserPart[] = [];
  for (const block of blocks) {
    if (block.type === "tool_result") {
      const { tool_use_id, content, is_error } = block;
      const shown: readonly Shown[] = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
      const said = [is_error === true ? "Error: " : ""];
      for (const inner of shown) {
        if (inner.type === "image") rest.push(imagePart(inner));
        else said.push(shownText(inner));
      }
      results.push({ role: "tool", tool_call_id: tool_use_id, content: said.join("") });
    } else if (block.type === "image") rest.push(imagePart(block));
    else if (block.type === "text" || block.type === "document") rest.push(textPart(shownText(block), block));
  }
  if (rest.length === 0) return results;
  const [only] = rest;
  const isPlain = rest.length === 1 && only?.type === "text" && only.cache_control === undefined;
  return [...results, { role: "user", content: isPlain ? only.text : rest }];
}

function shownText(block: Extract<Shown, { type: "text" | "document" }>): string {
  if (block.type === "text") return block.text;
  return block.title == null ? block.source.data : `${block.title}\n\n${block.source.data}`;
}

function textPart(text: string, block: Cached): TextPart {
  return { type: "text", text, ...cached(block) };
}

function imagePart(block: Extract<Shown, { type: "image" }>): UserPart {
  const { source } = block;
  const url = source.type === "url" ? source.url : `data:${source.media_type};base64,${source.data}`;
  return { type: "image_url", image_url: { url }, ...cached(block) };
}

/** A longer life in the cache is not served: the usual one is asked for. */
function cached({ cache_control }: Cached): { cache_control?: { type: "ephemeral" } } {
  return cache_control == null ? {} : { cache_control: { type: "ephemeral" } };
}

function isText(block: MessagesBlock): block is Extract<Shown, { type: "text" }> {
  return block.type === "text";
}
