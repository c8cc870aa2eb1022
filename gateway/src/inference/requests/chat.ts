import { chatRequest } from "@inference/protocol/wire/chat";
import { fieldValidator } from "../../http/json/validate.ts";
import type { JsonObject } from "../../json-object.ts";
import { chatRefusals, chatRules } from "./chat-fields.ts";
import { unknownMembers } from "./chat-messages.ts";
import { writeChatOrder } from "./chat-order.ts";
import { withFallbacks } from "./fallback-models.ts";
import { findModel } from "./find-model.ts";
import { readMaxTokens } from "./max-tokens.ts";
import type { ChatOrder } from "./order.ts";
import type { OrderContext } from "./order-context.ts";
import { isResponsesBody, parseResponsesAsChat } from "./responses.ts";
import { sortFields } from "./sort-fields.ts";

const validate = fieldValidator(chatRequest, chatRefusals);

/** POST /chat/completions. */
export const parseChatOrder = withFallbacks(parseChat);

function parseChat(body: JsonObject, context: OrderContext): ChatOrder {
  if (isResponsesBody(body)) return parseResponsesAsChat(body, context);
  const { known, ignored } = sortFields(body, chatRequest.shape, chatRules);
  const model = findModel(known.model, "text", context);
  const limit = readMaxTokens(known, model);
  const request = validate(known);
  ignored.push(...unknownMembers(known.messages, request.messages));
  if (request.stream !== true && request.stream_options !== undefined) ignored.push("stream_options");
  return writeChatOrder(request, { model, limit, ignored }, context);
}
