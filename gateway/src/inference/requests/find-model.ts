import { fail } from "@inference/protocol/errors";
import type { Model, Price } from "@inference/protocol/model";
import { ownValue } from "@inference/protocol/own-value";
import { MAX_MODELS, models as modelsField } from "@inference/protocol/wire/fields";
import * as z from "zod";
import { modelsOfAlias } from "../../catalogue/aliases.ts";
import { limits } from "../../config.ts";
import { UpstreamFailure } from "../../environment.ts";
import { fieldValidator } from "../../http/json/validate.ts";
import type { JsonObject } from "../../json-object.ts";
import { ModelUnavailable } from "../../load/model-unavailable.ts";
import type { ChatOrder, Order, OrderContext, WrittenOrder } from "./order.ts";

export type ModelOf<Kind extends Price["kind"]> = Model & { price: Extract<Price, { kind: Kind }> };

const kinds: Record<Price["kind"], { noun: string; route: string }> = {
  text: { noun: "a text model", route: "/v1/chat/completions" },
  embedding: { noun: "an embedding model", route: "/v1/embeddings" },
  image: { noun: "an image model", route: "/v1/image/generate or /v1/images/generations" },
  speech: { noun: "a speech model", route: "/v1/audio/speech" },
  transcription: { noun: "a transcription model", route: "/v1/audio/transcriptions" },
  edit: { noun: "a model for edits", route: "/v1/images/edits or /v1/image/edit" },
  upscale: { noun: "a model for upscaling", route: "/v1/image/upscale" },
};
const SHOWN = 100;

/**
 * Finds a model by an alias or its exact id. Throws if it is not of the kind that the endpoint serves.
 *
 * @param param The field that names it.
 */
export function findModel<Kind extends Price["kind"]>(
  requested: unknown,
  kind: Kind,
  context: Pick<OrderContext, "snapshot" | "aliases">,
  param = "model",
): ModelOf<Kind> {
  if (requested === undefined)
    fail("invalid_request", "`model` is missing. GET /v1/models lists the models.", { param });
  if (typeof requested !== "string") fail("invalid_request", "`model` must be a string: the id of a model.", { param });
  const { models } = context.snapshot;
  const alias = ownValue(context.aliases, requested);
  const model = alias === undefined ? models.get(requested) : modelsOfAlias(alias, models)[0];
  if (model === undefined) return refuse(requested, models, param);
  if (!isOfKind(model, kind)) {
    const { noun, route } = kinds[model.price.kind];
    const message = `\`${model.id}\` is ${noun}: send it to ${route}, or use ${kinds[kind].noun} here.`;
    fail("invalid_request", message, { param });
  }
  return model;
}

function isOfKind<Kind extends Price["kind"]>(model: Model, kind: Kind): model is ModelOf<Kind> {
  return model.price.kind === kind;
}

function refuse(requested: string, models: ReadonlyMap<string, Model>, param: string): never {
  const shown = requested.slice(0, SHOWN);
  const [base = ""] = requested.split(":", 1);
  if (base !== requested && models.has(base)) {
    const message = `Suffixes are not supported. Send \`${base}\`, and set the options of the suffix as fields of the body or of \`venice_parameters\`.`;
    fail("unsupported_parameter", message, { param });
  }
  const similar = similarIds(shown, models);
  const advice = similar.length === 0 ? "GET /v1/models lists the models." : `Did you mean ${similar.join(" or ")}?`;
  fail("model_not_found", `There is no model \`${shown}\` here. ${advice}`, { param });
}

/** At most three ids: those that differ in case and punctuation only, else those that contain the name or are in it. */
function similarIds(requested: string, models: ReadonlyMap<string, Model>): string[] {
  const wanted = plain(requested);
  const ids = [...models.keys()];
  const same = ids.filter((id) => plain(id) === wanted);
  const near = wanted.length < 3 ? [] : ids.filter((id) => plain(id).includes(wanted) || wanted.includes(plain(id)));
  return (same.length > 0 ? same : near).slice(0, 3).map((id) => `\`${id}\``);
}

function plain(id: string): string {
  return id.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** Refuses a value that the catalogue does not list for the model. */
export function checkListed(param: string, value: string | undefined, listed: readonly string[], id: string): void {
  if (value === undefined || listed.includes(value)) return;
  if (listed.length === 0) {
    fail("unsupported_parameter", `\`${id}\` has no choice of \`${param}\`. Leave it out.`, { param });
  }
  fail("invalid_request", `\`${param}\` of \`${id}\` can be ${listed.join(", ")}.`, { param });
}

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

/**
 * The order for the next model, after a failure; undefined if there is none, or if another model is no remedy: the
 * request is the cause, or the provider may bill it.
 */
export function nextModel(order: Order, failure: unknown): WrittenOrder | undefined {
  const why = whyUnavailable(failure);
  if (why === null || order.fallback === undefined) return undefined;
  return { ...order.fallback, tried: [...(order.tried ?? []), { model: order.model.id, why }] };
}

function whyUnavailable(failure: unknown): string | null {
  if (failure instanceof ModelUnavailable) return failure.why;
  return failure instanceof UpstreamFailure && failure.stage === "not_sent" ? "not reached" : null;
}
