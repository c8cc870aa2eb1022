import { quoteAnswer } from "@inference/protocol/wire/answers";
import { chatRequest } from "@inference/protocol/wire/chat";
import { json, ok } from "../docs/operation.ts";
import { amounts } from "../http/money.ts";
import type { BodyParser } from "../inference/requests/body-job.ts";
import { parseChatOrder } from "../inference/requests/chat.ts";
import { makeOrder } from "../inference/requests/make-order.ts";
import type { HoldTerms } from "../pricing/quote.ts";
import { apiPrefixes, endpoint } from "./endpoint.ts";
import { readFreeBody } from "./free-body.ts";

type ChatQuote = Pick<HoldTerms, "maxNanoUsd" | "bound"> & { model: string; snapshotId: string };

const parser: BodyParser<ChatQuote> = {
  name: "quote",
  parse(body, context) {
    const { model, quote, hold } = makeOrder(parseChatOrder(body, context));
    const { maxNanoUsd, bound } = hold;
    return { model: model.id, snapshotId: quote.snapshotId, maxNanoUsd, ...(bound === undefined ? {} : { bound }) };
  },
};

export const quoteChat = endpoint({
  method: "POST",
  prefixes: apiPrefixes,
  path: "/quote",
  id: "quoteChat",
  group: "Inference",
  title: "The most that a chat request can cost",
  about:
    "Of the body of a chat request: the amount that the request would reserve at the prices of now. With fallback " +
    "models it is that of the dearest. It costs nothing and holds nothing.",
  credentials: ["API key", "session"],
  body: { name: "ChatRequest", schema: chatRequest },
  answers: [ok("The quote.", json("QuoteAnswer", quoteAnswer))],
  errors: [
    "unsupported_parameter",
    "unpriced_option",
    "context_length_exceeded",
    "model_not_found",
    "upstream_unavailable",
  ],
  parser,
  async handle(context) {
    const quote = await readFreeBody(context, parser);
    return context.json({
      data: {
        model: quote.model,
        ...amounts({ max_cost: quote.maxNanoUsd }),
        max_prompt_tokens: quote.bound?.promptTokens ?? 0,
        max_completion_tokens: quote.bound?.completionTokens ?? 0,
        price_snapshot: quote.snapshotId,
      },
    });
  },
});
