import { fail } from "@inference/protocol/errors";
import { ownValue } from "@inference/protocol/own-value";
import { MAX_MODELS, models as modelsField } from "@inference/protocol/wire/fields";
import * as z from "zod";
import { modelsOfAlias } from "../../catalogue/aliases.ts";
import { limits } from "../../config.ts";
import { fieldValidator } from "../../http/json/validate.ts";
import type { JsonObject } from "../../json-object.ts";
import { findModel } from "./find-model.ts";
import type { ChatOrder } from "./order.ts";
import type { OrderContext } from "./order-context.ts";

type ChatParser = (body: JsonObject, context: OrderContext) => ChatOrder;

/**
 * A parser of chat bodies that reads a body once for each of its models, so that each can take it: `model`, those of
 * `models`, and those of an alias. A large body is read for the first model only.
 */
export function withFallbacks(parse: ChatParser): ChatParser {
  return function parseWithFallbacks(body, context) {
    const { models = null, model } = body;
    const { aliases } = context;
    const alias = typeof model === "string" ? ownValue(aliases, model) : undefined;
    if (models === null && (alias?.length ?? 1) === 1) return parse(body, context);
    const { models: _, ...rest } = body;
    const [first, ...others] = modelIds(model, models ?? [], context);
    const exact = { ...context, aliases: {} };
    const order = parse({ ...rest, model: first }, exact);
    if (order.upstreamBody.length > limits.fallbackBodyBytes) return order;
    const orders = [order, ...others.map((id) => parse({ ...rest, model: id }, exact))];
    return orders.reduceRight((fallback, each) => ({ ...each, fallback }));
  };
}

const validate = fieldValidator(z.object({ models: modelsField }), []);

/** The ids of the models that may serve the request. Throws if one that the client names is not served. */
function modelIds(model: unknown, models: unknown, context: OrderContext): string[] {
  const { models: further = [] } = validate({ models });
  const isNamed = (model ?? null) !== null || further.length === 0;
  const ids = new Set<string>();
  for (const [index, name] of (isNamed ? [model, ...further] : further).entries()) {
    const at = isNamed ? index - 1 : index;
    const first = findModel(name ?? undefined, "text", context, at < 0 ? "model" : `models[${at}]`);
    const alias = ownValue(context.aliases, String(name)) ?? [first.id];
    for (const { id } of modelsOfAlias(alias, context.snapshot.models)) ids.add(id);
  }
  if (ids.size > MAX_MODELS) {
    const message = `A request can have ${MAX_MODELS} models at most. This one has ${ids.size}, with those of aliases.`;
    fail("invalid_request", message, { param: "models" });
  }
  return [...ids];
}
