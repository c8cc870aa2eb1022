import { fail } from "@inference/protocol/errors";
import type { Model } from "@inference/protocol/model";
import type { ChatRequest } from "@inference/protocol/wire/chat";
import { joinBytes } from "../../bytes.ts";
import { COLON } from "../../http/json/json-scan.ts";
import { isJsonObject, type JsonObject } from "../../json-object.ts";
import { promptBound } from "../../pricing/bound.ts";
import { readMessages } from "./chat-messages.ts";
import type { ModelOf } from "./find-model.ts";
import { type ChatOrder, type OrderContext, writeBody } from "./order.ts";

/** How a chat request is to be served. */
export type ChatTerms = {
  model: ModelOf<"text">;
  limit: OutputLimit;
  /** Names of fields that were dropped so far. */
  ignored: readonly string[];
  /** The names of these two fields in the client's API, if it is not chat. */
  names?: { messages: string; maxTokens: string };
};

/** The order of a chat request that was checked. */
export function writeChatOrder(
  request: ChatRequest,
  { model, limit: { maxTokens, modelMaxTokens }, ignored, names }: ChatTerms,
  context: OrderContext,
): ChatOrder {
  if (request.messages.length === 0) {
    const param = names?.messages ?? "messages";
    fail("invalid_request", `\`${param}\` has no message that can be sent. Add one of the user.`, { param });
  }
  const { messages, fetched, ignored: ignoredInMessages } = readMessages(request.messages, model, names?.messages);
  const upstreamBody = writeBody(upstreamFields(request, { model: model.id, messages, maxTokens }, context));
  const promptTokens = fetched
    ? wholeContext(model, names?.messages)
    : promptBound({
        bodyBytes: upstreamBody.length,
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
    terms: {
      kind: "text",
      snapshotId: context.snapshot.id,
      price: model.price,
      promptTokens,
      choices: request.n ?? 1,
      maxTokens,
      modelMaxTokens,
      outputField: names?.maxTokens,
    },
  };
}

/** The order with a smaller output limit, and so its fallbacks. */
export function withOutputLimit(order: ChatOrder, mostTokens: number): ChatOrder {
  const { terms, upstreamBody: body, answerApi: api, headers, fallback } = order;
  const maxTokens = Math.min(mostTokens, terms.maxTokens);
  return {
    ...order,
    upstreamBody: joinBytes([body.subarray(0, body.lastIndexOf(COLON) + 1), Buffer.from(`${maxTokens}}`)]),
    terms: { ...terms, maxTokens },
    ...(api?.name === "responses"
      ? { answerApi: { ...api, echo: { ...api.echo, max_output_tokens: maxTokens } } }
      : {}),
    headers: { ...headers, ...limitHeader(maxTokens) },
    ...(fallback === undefined ? {} : { fallback: withOutputLimit(fallback, mostTokens) }),
  };
}

export function limitHeader(maxTokens: number): Record<string, string> {
  return { "x-max-output-tokens": String(maxTokens) };
}

type Priced = { model: string; messages: object[]; maxTokens: number };

/** The gateway sets these fields, because they bound the cost or name the customer. */
const ours = new Set([
  "model",
  "models",
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
    for (const key of Object.keys(theirs)) if (!ours.has(key)) fields[key] = merged(fields[key], theirs[key]);
  }
  if (request.n !== undefined) fields.n = request.n;
  fields.stream = request.stream === true;
  if (request.stream === true) fields.stream_options = { include_usage: true };
  fields.user = context.user;
  fields[context.chatOutputField ?? "max_completion_tokens"] = priced.maxTokens;
  return fields;
}

/** The second, with the members that the first alone has. */
function merged(first: unknown, second: unknown): unknown {
  return isJsonObject(first) && isJsonObject(second) ? { ...first, ...second } : second;
}

/** Parts that the provider fetches can fill the whole context. */
function wholeContext(model: ModelOf<"text">, param = "messages"): number {
  if (model.contextTokens === null) {
    const message = `\`${model.id}\` has no listed context, so images and the like have no maximum cost. Send text only.`;
    fail("unpriced_option", message, { param });
  }
  return model.contextTokens;
}

/** The limit if the catalogue lists none. No model writes more. */
const MOST_TOKENS = 1_000_000;

/** The output limit to send, and the model's own. */
type OutputLimit = { maxTokens: number; modelMaxTokens: number };

/**
 * The output limit to send, and the model's own. The field has two names. Both may be sent if they agree; none means
 * the model's maximum. Values below 1 are refused, because providers read them as "no limit".
 */
export function readMaxTokens(fields: JsonObject, model: Model): OutputLimit {
  const modelMax = modelMaxTokens(model);
  const first = readField("max_completion_tokens", fields.max_completion_tokens, model.id, modelMax);
  const second = readField("max_tokens", fields.max_tokens, model.id, modelMax);
  if (first !== undefined && second !== undefined && first !== second) {
    fail("invalid_request", "`max_tokens` and `max_completion_tokens` differ. Send one of them.", {
      param: "max_tokens",
    });
  }
  const maxTokens = first ?? second ?? modelMax;
  if (maxTokens === null) {
    const message = `\`${model.id}\` has no listed maximum: say how long the answer may be with \`max_completion_tokens\`.`;
    fail("invalid_request", message, { param: "max_completion_tokens" });
  }
  return { maxTokens, modelMaxTokens: modelMax ?? maxTokens };
}

function readField(param: string, value: unknown, id: string, modelMax: number | null): number | undefined {
  if (value === undefined) return undefined;
  const most = modelMax ?? MOST_TOKENS;
  if (typeof value !== "number" || value < 1 || !(Number.isInteger(value) || value === Number.POSITIVE_INFINITY)) {
    const message = `\`${param}\` must be a whole number from 1 to ${most}. Leave it out for the model's maximum.`;
    fail("invalid_request", message, { param, metadata: { max_tokens: most } });
  }
  if (value > most) {
    const message = `\`${param}\` is above the maximum of \`${id}\`, ${most}. Send at most ${most}, or leave it out.`;
    fail("invalid_request", message, { param, metadata: { max_tokens: most } });
  }
  return value;
}

/** The smaller of the model's maximum and its context, as far as they are known. */
export function modelMaxTokens({ maxOutputTokens, contextTokens }: Model): number | null {
  if (maxOutputTokens === null) return contextTokens;
  return contextTokens === null ? maxOutputTokens : Math.min(maxOutputTokens, contextTokens);
}
