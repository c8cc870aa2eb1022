import { countTokensAnswer, countTokensRequest } from "@inference/protocol/wire/messages";
import { json, ok } from "../docs/operation.ts";
import { parseCountTokens } from "../inference/requests/count-tokens.ts";
import { apiPrefixes, endpoint } from "./endpoint.ts";
import { readFreeBody } from "./free-body.ts";

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
