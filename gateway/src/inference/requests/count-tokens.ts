import type { ChatMessage, ChatRequest } from "@inference/protocol/wire/chat";
import { countTokensRequest } from "@inference/protocol/wire/messages";
import { findModel } from "./find-model.ts";
import { type MadeTexts, makeTexts } from "./made-texts.ts";
import { readConversation } from "./messages.ts";
import { messagesRefusals, messagesRules } from "./messages-fields.ts";
import type { OrderContext } from "./order-context.ts";
import { dropped, sortFields } from "./sort-fields.ts";
import { fieldValidator } from "./validate.ts";
import { writeBody } from "./write-json.ts";

const validate = fieldValidator(countTokensRequest, messagesRefusals);

/** Of English text and of code a token has about so many bytes. */
const BYTES_PER_TOKEN = 4;
const TOKENS_PER_IMAGE = 1600;

export type Prompt = { chat: ChatRequest; texts: MadeTexts };

/** POST /messages/count_tokens: the prompt that the same body would have as a message. */
export function* parseCountTokens(body: unknown, context: OrderContext): Generator<void, Prompt> {
  const { known } = sortFields(body, countTokensRequest.shape, messagesRules, dropped());
  const model = findModel(known.model, "text", context);
  const request = validate(known);
  yield;
  const texts = makeTexts(context.texts);
  return { chat: yield* readConversation(request, model, texts, context), texts };
}

/** An estimate of a prompt's tokens: its texts with what is around them, and its images. */
export function* estimatePrompt({ chat, texts }: Prompt): Generator<void, number> {
  let images = 0;
  const messages = chat.messages.map((message): ChatMessage => {
    if (message.role !== "user" || typeof message.content === "string") return message;
    const content = message.content.filter(({ type }) => type === "text");
    images += message.content.length - content.length;
    return { ...message, content };
  });
  const { bytes } = yield* writeBody({ ...chat, messages }, texts.all);
  return Math.ceil(bytes / BYTES_PER_TOKEN) + TOKENS_PER_IMAGE * images;
}
