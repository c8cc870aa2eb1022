import { fail } from "@inference/protocol/errors";
import type { ChatRequest } from "@inference/protocol/wire/chat";
import type { JsonObject } from "../../json-object.ts";
import { promptBound } from "../../pricing/bound.ts";
import { quoteText, type TokenQuote } from "../../pricing/quote-text.ts";
import { readMessages } from "./chat-messages.ts";
import type { ModelOf } from "./find-model.ts";
import type { OutputLimit } from "./max-tokens.ts";
import type { WrittenOrder } from "./order.ts";
import type { OrderContext } from "./order-context.ts";
import { isUnchanged, spliceMessages } from "./spliced-messages.ts";
import { type WrittenBody, writeBody } from "./write-json.ts";

export type TokenOrder = WrittenOrder & { quote: TokenQuote };

/** How a chat request is to be served. */
export type ChatTerms = {
  model: ModelOf<"text">;
  limit: OutputLimit;
  /** The client's messages before they were checked; absent if they are made of another API's. */
  given?: unknown;
  /** Names of fields that were dropped so far. */
  ignored: readonly string[];
  /** What the client's API calls these two fields, if it is not chat. */
  names?: { messages: string; maxTokens: string };
};

/** The order of a chat request that was checked. */
export function* writeChatOrder(
  request: ChatRequest,
  { model, limit: { maxTokens, modelMaxTokens }, ignored, names, given }: ChatTerms,
  context: OrderContext,
): Generator<void, TokenOrder> {
  if (request.messages.length === 0) {
    const param = names?.messages ?? "messages";
    fail("invalid_request", `\`${param}\` has no message that can be sent. Add one of the user.`, { param });
  }
  const { messages, fetched, ignored: ignoredInMessages } = readMessages(request.messages, model, names?.messages);
  const fields = upstreamFields(request, { model: model.id, messages, maxTokens }, context);
  const asTheyCame = context.messages !== null && isUnchanged(given, messages) ? context.messages : null;
  const { upstreamBody, bytes } =
    asTheyCame === null ? yield* writeBody(fields, context.texts) : wholeBody(spliceMessages(fields, asTheyCame));
  const promptTokens = fetched
    ? wholeContext(model, names?.messages)
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
      outputField: names?.maxTokens,
    }),
  };
}

function wholeBody(body: Uint8Array): { upstreamBody: WrittenBody; bytes: number } {
  return { upstreamBody: [body], bytes: body.length };
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
  for (const theirs of [request as JsonObject, context.chatExtras]) {
    for (const key of Object.keys(theirs)) if (!ours.has(key)) fields[key] = theirs[key];
  }
  if (request.n !== undefined) fields.n = request.n;
  fields[context.chatOutputField ?? "max_completion_tokens"] = priced.maxTokens;
  fields.stream = request.stream === true;
  if (request.stream === true) fields.stream_options = { include_usage: true };
  fields.user = context.user;
  return fields;
}

/** Parts that the provider fetches can fill the whole context. */
function wholeContext(model: ModelOf<"text">, param = "messages"): number {
  if (model.contextTokens === null) {
    const message = `\`${model.id}\` has no listed context, so images and the like have no maximum cost. Send text only.`;
    fail("unpriced_option", message, { param });
  }
  return model.contextTokens;
}
