import {
  countTokensAnswer,
  countTokensRequest,
  messagesAnswer,
  messagesEvent,
  messagesRequest,
} from "@inference/protocol/wire/messages";
import { json, ok } from "../docs/operation.ts";
import { parseCountTokens, parseMessagesOrder } from "../inference/requests/messages.ts";
import { chatContent } from "./chat-completions.ts";
import { apiPrefixes, endpoint } from "./endpoint.ts";
import { readFreeBody } from "./free-body.ts";
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

const parser = { name: "count_tokens", parse: parseCountTokens };

export const countTokens = endpoint({
  method: "POST",
  prefixes: apiPrefixes,
  path: "/messages/count_tokens",
  id: "countTokens",
  group: "Inference",
  title: "The tokens of a message's prompt",
  about: "An estimate from the size of the texts, with 1,600 tokens for an image. It costs nothing and holds nothing.",
  credentials: ["API key", "session"],
  body: { name: "CountTokensRequest", schema: countTokensRequest },
  answers: [ok("The estimate.", json("CountTokensAnswer", countTokensAnswer))],
  errors: ["unsupported_parameter", "unpriced_option", "model_not_found", "upstream_unavailable"],
  errorSchema: "MessagesError",
  parser,
  async handle(context) {
    const input_tokens = await readFreeBody(context, parser);
    return context.json({ input_tokens }, 200, { "request-id": context.get("requestId") });
  },
});
