import { fail } from "@inference/protocol/errors";
import { embeddingsRequest } from "@inference/protocol/wire/embeddings";
import { validate } from "../../http/json/validate.ts";
import { embeddingBound } from "../../pricing/bound.ts";
import { findModel } from "./find-model.ts";
import { type OrderContext, type ParsedOrder, writeBody } from "./order.ts";
import { dropped, type FieldRule, sortFields, unsupported } from "./sort-fields.ts";

const rules: ReadonlyMap<string, FieldRule> = new Map([
  ...dropped("user", "metadata"),
  ["input_type", unsupported("Put what the model wants to be told into the input's text.")],
  ["prompt", unsupported("Send `input`.")],
]);

/** POST /embeddings. */
export function parseEmbeddingsOrder(body: unknown, context: OrderContext): ParsedOrder {
  const { known, ignored } = sortFields(body, embeddingsRequest.shape, rules);
  const model = findModel(known.model, "embedding", context);
  refuseTokens(known.input);
  const request = validate(embeddingsRequest, known);
  const inputs = typeof request.input === "string" ? [request.input] : request.input;
  const inputBytes = inputs.map((input) => Buffer.byteLength(input));
  return {
    upstreamPath: "/embeddings",
    upstreamBody: writeBody({ ...request, model: model.id, user: context.user }),
    model,
    stream: false,
    ignored,
    terms: {
      kind: "embedding",
      snapshotId: context.snapshot.id,
      price: model.price,
      promptTokens: embeddingBound(inputBytes, model.contextTokens),
    },
  };
}

/** Refuses token ids. They belong to one tokenizer, and the model may have another one. */
function refuseTokens(input: unknown): void {
  if (!Array.isArray(input)) return;
  const first: unknown = Array.isArray(input[0]) ? input[0][0] : input[0];
  if (typeof first !== "number") return;
  const message =
    "Arrays of token ids are not supported: send text, a string or an array of strings. " +
    "(Client libraries that count tokens first have an option to switch that off.)";
  fail("invalid_request", message, { param: "input" });
}
