import { fail } from "@inference/protocol/errors";
import { chatRequest, veniceParameters } from "@inference/protocol/wire/chat";
import { fieldValidator } from "../../http/json/validate.ts";
import { isJsonObject, type JsonObject } from "../../json-object.ts";
import { chatRefusals, chatRules, veniceRules } from "./chat-fields.ts";
import { unknownMembers } from "./chat-messages.ts";
import { writeChatOrder } from "./chat-order.ts";
import { withFallbacks } from "./fallback-models.ts";
import { findModel } from "./find-model.ts";
import { readMaxTokens } from "./max-tokens.ts";
import type { ChatOrder } from "./order.ts";
import type { OrderContext } from "./order-context.ts";
import { isResponsesBody, parseResponsesAsChat } from "./responses.ts";
import { dropped, sortFields } from "./sort-fields.ts";

const validate = fieldValidator(chatRequest, chatRefusals);

/** POST /chat/completions. */
export const parseChatOrder = withFallbacks(parseChat);

function parseChat(body: JsonObject, context: OrderContext): ChatOrder {
  if (isResponsesBody(body)) return parseResponsesAsChat(body, context);
  const { known, ignored } = sortFields(body, chatRequest.shape, chatRules);
  ignored.push(...sortVeniceParameters(known, context));
  const model = findModel(known.model, "text", context);
  const limit = readMaxTokens(known, model);
  const request = validate(known);
  ignored.push(...unknownMembers(known.messages, request.messages));
  if (request.stream !== true && request.stream_options !== undefined) ignored.push("stream_options");
  return writeChatOrder(request, { model, limit, ignored }, context);
}

/**
 * Leaves the members of `venice_parameters` that change the answer and not the price. All of it is dropped if the
 * operator's own fields do not have it, because other providers refuse a field that they do not know.
 *
 * @returns The names of what was dropped.
 */
function sortVeniceParameters(known: JsonObject, { chatExtras }: OrderContext): string[] {
  const given = known.venice_parameters;
  if (given === undefined) return [];
  const param = "venice_parameters";
  if (!isJsonObject(given)) fail("invalid_request", `\`${param}\` must be an object.`, { param });
  const sorted = sortFields(given, veniceParameters.shape, veniceRules, dropped(), `${param}.`);
  if (Object.hasOwn(chatExtras, param)) {
    known.venice_parameters = sorted.known;
    return sorted.ignored;
  }
  delete known.venice_parameters;
  return [param];
}
