import { fail } from "@inference/protocol/errors";
import type { ChatRequest } from "@inference/protocol/wire/chat";
import { type CountTokensRequest, type MessagesRequest, messagesRequest } from "@inference/protocol/wire/messages";
import { fieldValidator } from "../../http/json/validate.ts";
import type { JsonObject } from "../../json-object.ts";
import { type ChatTerms, limitHeader, writeChatOrder } from "./chat-order.ts";
import { withFallbacks } from "./fallback-models.ts";
import { findModel } from "./find-model.ts";
import { modelMaxTokens } from "./max-tokens.ts";
import { messagesRefusals, messagesRules } from "./messages-fields.ts";
import { readMessagesOf, textContent } from "./messages-messages.ts";
import type { ChatOrder } from "./order.ts";
import type { OrderContext } from "./order-context.ts";
import { dropped, sortFields } from "./sort-fields.ts";

const validate = fieldValidator(messagesRequest, messagesRefusals);
const names = { messages: "messages", maxTokens: "max_tokens" };
/** The most stop sequences that chat takes. */
const MAX_STOPS = 4;

/** POST /messages: a chat order whose answer is written as the Messages API's. */
export const parseMessagesOrder = withFallbacks(parseMessages);

function parseMessages(body: JsonObject, context: OrderContext): ChatOrder {
  const { known, ignored } = sortFields(body, messagesRequest.shape, messagesRules, dropped());
  const model = findModel(known.model, "text", context);
  const request = validate(known);
  const read = readConversation(request, model, context);
  const { stop_sequences: stops, temperature, top_p, top_k, stream } = request;
  if (stops !== undefined && stops.length > MAX_STOPS) {
    fail("invalid_request", `\`stop_sequences\` can be ${MAX_STOPS} at most.`, { param: "stop_sequences" });
  }
  const chat: ChatRequest = {
    ...read,
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { top_p }),
    ...(top_k === undefined ? {} : { top_k }),
    ...(stops === undefined || stops.length === 0 ? {} : { stop: stops }),
    ...effortOf(request),
    ...(stream === true ? { stream: true } : {}),
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
export function readConversation(
  request: CountTokensRequest,
  model: ChatTerms["model"],
  context: OrderContext,
): ChatRequest {
  const owner = { account: context.account, model: model.id };
  const messages = readMessagesOf(request.messages, (sealed) => context.reasoningSeal.open(owner, sealed));
  const { system, output_config: output } = request;
  const isEmpty = system === undefined || system.length === 0;
  return {
    model: model.id,
    messages: [...(isEmpty ? [] : [{ role: "system" as const, content: textContent(system) }]), ...messages],
    ...toolsOf(request),
    ...(output?.format == null
      ? {}
      : { response_format: { type: "json_schema", json_schema: { name: "output", schema: output.format.schema } } }),
  };
}

type Tools = Pick<ChatRequest, "tools" | "tool_choice" | "parallel_tool_calls">;

function toolsOf({ tools = [], tool_choice: choice }: CountTokensRequest): Tools {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(({ name, description, input_schema, cache_control }) => ({
      type: "function" as const,
      function: { name, ...(description == null ? {} : { description }), parameters: input_schema },
      ...(cache_control == null ? {} : { cache_control: { type: "ephemeral" as const } }),
    })),
    ...(choice === undefined ? {} : { tool_choice: choiceOf(choice) }),
    ...(choice?.disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {}),
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
function effortOf({ thinking, output_config, max_tokens }: MessagesRequest): Pick<ChatRequest, "reasoning_effort"> {
  const { effort } = output_config ?? {};
  if (thinking?.type === "disabled") return { reasoning_effort: "none" };
  if (effort != null) return { reasoning_effort: effort };
  if (thinking?.type !== "enabled" || thinking.budget_tokens == null) return {};
  const share = thinking.budget_tokens / max_tokens;
  return { reasoning_effort: share < 1 / 3 ? "low" : share < 2 / 3 ? "medium" : "high" };
}
