import type { ChatMessage, ChatRequest } from "@inference/protocol/wire/chat";
import { countTokensRequest } from "@inference/protocol/wire/messages";
import { fieldValidator } from "../../http/json/validate.ts";
import { findModel } from "./find-model.ts";
import { readConversation } from "./messages.ts";
import { messagesRefusals, messagesRules } from "./messages-fields.ts";
import { writeBody } from "./order.ts";
import type { OrderContext } from "./order-context.ts";
import { dropped, sortFields } from "./sort-fields.ts";

const validate = fieldValidator(countTokensRequest, messagesRefusals);

/** The bytes of a token in English text and in code, about. */
const BYTES_PER_TOKEN = 4;
const TOKENS_PER_IMAGE = 1600;

/** POST /messages/count_tokens: an estimate from the prompt that the same body would have as a message. */
export function parseCountTokens(body: unknown, context: OrderContext): number {
  const { known } = sortFields(body, countTokensRequest.shape, messagesRules, dropped());
  const model = findModel(known.model, "text", context);
  return estimatePrompt(readConversation(validate(known), model, context));
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
