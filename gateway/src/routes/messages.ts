import { messagesAnswer, messagesEvent, messagesRequest } from "@inference/protocol/wire/messages";
import { json, ok } from "../docs/operation.ts";
import { parseMessagesOrder } from "../inference/requests/messages.ts";
import { chatContent } from "./chat-completions.ts";
import { meteredEndpoint } from "./metered-endpoint.ts";

export const createMessage = meteredEndpoint({
  path: "/messages",
  name: "messages",
  id: "createMessage",
  title: "The Messages API",
  about:
    "For clients of Anthropic's API, such as Claude Code: their base URL is this gateway's, without `/v1`. It costs what " +
    "the same chat costs. `max_tokens` above the model's maximum is read as that maximum; `x-max-output-tokens` says " +
    "which limit is in force. Fields that are not used are dropped and named in `x-ignored-parameters`. Errors are that " +
    "API's object, with our `code` in it.",
  body: { name: "MessagesRequest", schema: messagesRequest },
  bodyLimit: "chatBodyBytes",
  answers: [
    ok("The message; `usage.cost` is what was charged.", {
      ...json("MessagesAnswer", messagesAnswer),
      "text/event-stream": { name: "MessagesEvent", schema: messagesEvent },
    }),
  ],
  errors: ["context_length_exceeded"],
  errorSchema: "MessagesError",
  parse: parseMessagesOrder,
  ...chatContent,
});
