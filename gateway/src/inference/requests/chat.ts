import { chatRequest } from "@inference/protocol/wire/chat";
import { fieldValidator } from "../../http/json/validate.ts";
import { chatRefusals, chatRules } from "./chat-fields.ts";
import { unknownMembers } from "./chat-messages.ts";
import { type ChatOrder, writeChatOrder } from "./chat-order.ts";
import { findModel } from "./find-model.ts";
import { readMaxTokens } from "./max-tokens.ts";
import type { OrderContext } from "./order-context.ts";
import { isResponsesBody, parseResponsesAsChat } from "./responses.ts";
import { sortFields } from "./sort-fields.ts";

const validate = fieldValidator(chatRequest, chatRefusals);

/** POST /chat/completions. */
export function parseChatOrder(body: unknown, context: OrderContext): ChatOrder {
  if (isResponsesBody(body)) return parseResponsesAsChat(body, context);
  const { known, ignored } = sortFields(body, chatRequest.shape, chatRules);
  const model = findModel(known.model, "text", context);
  const limit = readMaxTokens(known, model);
  const request = validate(known);
  ignored.push(...unknownMembers(known.messages, request.messages));
  if (request.stream !== true && request.stream_options !== undefined) ignored.push("stream_options");
  return writeChatOrder(request, { model, limit, ignored }, context);
}
