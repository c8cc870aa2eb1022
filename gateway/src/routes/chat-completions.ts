import { chatAnswer, chatChunk } from "@inference/protocol/wire/answers";
import { chatRequest } from "@inference/protocol/wire/chat";
import { json, ok } from "../docs/operation.ts";
import { parseChatOrder } from "../inference/requests/chat.ts";
import { SHOWN_MEMBERS } from "../inference/stream/sse-event.ts";
import { meteredEndpoint } from "./metered-endpoint.ts";

/** The provider's answer to a chat request, whichever shape the client gets. */
export const chatContent = {
  content: { field: "choices", elements: "choices" },
  answerFields: [...SHOWN_MEMBERS, "usage"],
} as const;

export const createChatCompletion = meteredEndpoint({
  path: "/chat/completions",
  name: "chat",
  id: "createChatCompletion",
  title: "Chat",
  about:
    "Always give `max_tokens`: without it the model's whole maximum output is reserved. With `stream: true` the " +
    "answer is a stream of events, each a chunk, and `[DONE]` at its end. Harmless fields that change nothing, such " +
    "as `user`, are dropped and named in `x-ignored-parameters`; what is not known is refused.",
  body: { name: "ChatRequest", schema: chatRequest },
  bodyLimit: "chatBodyBytes",
  answers: [
    ok("The answer; `usage.cost` is what was charged.", {
      ...json("ChatAnswer", chatAnswer),
      "text/event-stream": { name: "ChatChunk", schema: chatChunk },
    }),
  ],
  errors: ["context_length_exceeded"],
  parse: parseChatOrder,
  ...chatContent,
});
