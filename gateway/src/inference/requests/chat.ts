import { fail } from "@inference/protocol/errors";
import { type ChatRequest, chatRequest } from "@inference/protocol/wire/chat";
import type { JsonObject } from "../../json-object.ts";
import { promptBound } from "../../pricing/bound.ts";
import { quoteText, type TokenQuote } from "../../pricing/quote-text.ts";
import { chatRefusals, chatRules } from "./chat-fields.ts";
import { readMessages } from "./chat-messages.ts";
import { findModel, type ModelOf } from "./find-model.ts";
import { readMaxTokens } from "./max-tokens.ts";
import type { WrittenOrder } from "./order.ts";
import type { OrderContext } from "./order-context.ts";
import { sortFields } from "./sort-fields.ts";
import { fieldValidator } from "./validate.ts";
import { writeBody } from "./write-json.ts";

const validate = fieldValidator(chatRequest, chatRefusals);

export type TokenOrder = WrittenOrder & { quote: TokenQuote };

/** POST /chat/completions. */
export function* parseChatOrder(body: unknown, context: OrderContext): Generator<void, TokenOrder> {
  const { known, ignored } = sortFields(body, chatRequest.shape, chatRules);
  const model = findModel(known.model, "text", context);
  const { maxTokens, modelMaxTokens } = readMaxTokens(known, model);
  const request = validate(known);
  const { messages, fetched, ignored: ignoredInMessages } = readMessages(request.messages, model);
  if (request.stream !== true && request.stream_options !== undefined) ignored.push("stream_options");

  const fields = upstreamFields(request, { model: model.id, messages, maxTokens }, context);
  const { upstreamBody, bytes } = yield* writeBody(fields, context.texts);
  const promptTokens = fetched
    ? wholeContext(model)
    : promptBound({
        bodyBytes: bytes,
        messages: messages.length,
        contextTokens: model.contextTokens,
      });
  return {
    upstreamPath: "/chat/completions",
    upstreamBody,
    model,
    stream: request.stream === true,
    includeUsage:
      request.stream === true && (request.stream_options?.include_usage === true || request.usage?.include === true),
    ignored: [...ignored, ...ignoredInMessages],
    quote: quoteText({
      snapshotId: context.snapshot.id,
      price: model.price,
      promptTokens,
      choices: request.n ?? 1,
      maxTokens,
      modelMaxTokens,
    }),
  };
}

type Priced = { model: string; messages: object[]; maxTokens: number };

/** The gateway sets these fields, because they bound the cost or name the customer. */
const ours = new Set([
  "model",
  "messages",
  "n",
  "max_tokens",
  "max_completion_tokens",
  "stream",
  "stream_options",
  "usage",
  "user",
]);

function upstreamFields(request: ChatRequest, priced: Priced, context: OrderContext): JsonObject {
  const fields: JsonObject = { model: priced.model, messages: priced.messages };
  for (const theirs of [request, context.chatExtras]) {
    for (const [key, value] of Object.entries(theirs)) if (!ours.has(key)) fields[key] = value;
  }
  if (request.n !== undefined) fields.n = request.n;
  fields[context.chatOutputField ?? "max_completion_tokens"] = priced.maxTokens;
  fields.stream = request.stream === true;
  if (request.stream === true) fields.stream_options = { include_usage: true };
  fields.user = context.user;
  return fields;
}

/** Parts that the provider fetches can fill the whole context. */
function wholeContext(model: ModelOf<"text">): number {
  if (model.contextTokens === null) {
    const message = `\`${model.id}\` has no listed context, so images and the like have no maximum cost. Send text only.`;
    fail("unpriced_option", message, { param: "messages" });
  }
  return model.contextTokens;
}
