import { holdForEither, makeQuote } from "../../pricing/quote.ts";
import type { AnswerFormat } from "../stream/answer-writer.ts";
import { createMessagesWriter } from "../stream/messages-writer.ts";
import { createResponsesWriter } from "../stream/responses-writer.ts";
import { withOutputLimit } from "./chat-order.ts";
import type { ParsedOrder, WrittenOrder } from "./order.ts";

/** Prices what was parsed. Throws `unpriced_option` for an image without a price. */
export function makeOrder(parsed: ParsedOrder): WrittenOrder {
  const { terms, answerApi, leastTokens, fallback: next, ...fields } = parsed;
  const format = formatOf(parsed);
  const quote = makeQuote(terms);
  const fallback = next === undefined ? undefined : makeOrder(next);
  return {
    ...fields,
    quote,
    ...(fallback === undefined ? { hold: quote } : { fallback, hold: holdForEither(quote, fallback.hold) }),
    ...(format === undefined ? {} : { format }),
    ...(leastTokens === undefined || terms.kind !== "text"
      ? {}
      : {
          limitChoice: {
            leastTokens,
            rewrite: (maxTokens) => makeOrder(withOutputLimit({ ...parsed, terms }, maxTokens)),
          },
        }),
  };
}

function formatOf({ answerApi: api, model }: ParsedOrder): AnswerFormat | undefined {
  switch (api?.name) {
    case undefined:
      return undefined;
    case "messages":
      return { makeWriter: (context) => createMessagesWriter(model.id, context), idHeader: "request-id" };
    case "responses":
      return { makeWriter: (context) => createResponsesWriter(api.tools, api.echo, context) };
  }
}
