import { fail } from "@inference/protocol/errors";
import type { Model } from "@inference/protocol/model";
import { toModelObject } from "../catalogue/model-object.ts";
import type { Gateway } from "../gateway.ts";
import type { GatewayContext } from "../http/context.ts";
import { presentedCredential } from "../http/credential.ts";
import { lookUpCredential } from "../http/identify.ts";

/**
 * GET /models: public, and exactly what some route can price and serve, the operator's own names for models last. A key
 * that is sent must be good.
 */
export async function listModels(context: GatewayContext): Promise<Response> {
  await checkPresentedCredential(context);
  const { gateway } = context.var;
  const { models } = gateway.prices.current();
  const text = lists.get(models) ?? (await gateway.slicedWork.run("models", writeList(gateway, models)));
  return context.body(text, 200, { "content-type": "application/json" });
}

/** Written once for each reading of the catalogue. */
const lists = new WeakMap<ReadonlyMap<string, Model>, string>();
const MODELS_AT_ONCE = 50;

function* writeList({ config }: Gateway, models: ReadonlyMap<string, Model>): Generator<void, string> {
  // Whoever waited behind the one that wrote it has it already.
  const known = lists.get(models);
  if (known !== undefined) return known;
  const { aliases } = config.upstream;
  const written: string[] = [];
  for (const id of [...[...models.keys()].filter((id) => !Object.hasOwn(aliases, id)), ...Object.keys(aliases)]) {
    const model = describeModel(aliases, models, id);
    if (model === undefined) continue;
    written.push(JSON.stringify(model));
    if (written.length % MODELS_AT_ONCE === 0) yield;
  }
  const text = `{"object":"list","data":[${written.join(",")}]}`;
  lists.set(models, text);
  return text;
}

/** Of an id, in a message that says that there is no such model. */
const MAX_SHOWN = 100;

export async function getModel(context: GatewayContext): Promise<Response> {
  await checkPresentedCredential(context);
  const id = context.req.param("id") ?? "";
  const { config, prices } = context.var.gateway;
  const model = describeModel(config.upstream.aliases, prices.current().models, id);
  if (model === undefined) {
    const shown = id.slice(0, MAX_SHOWN);
    return fail("model_not_found", `There is no model \`${shown}\` here: see GET /api/v1/models.`);
  }
  return context.json(model);
}

/** By its id, or by a name of the operator's, which comes first; undefined if it is not served. */
function describeModel(
  aliases: Readonly<Record<string, string>>,
  models: ReadonlyMap<string, Model>,
  id: string,
): Record<string, unknown> | undefined {
  const served = Object.hasOwn(aliases, id) ? aliases[id] : undefined;
  const model = models.get(served ?? id);
  if (model === undefined) return undefined;
  return served === undefined ? toModelObject(model) : { ...toModelObject(model), id, alias_of: served };
}

/** Clients try a key by listing the models: a bad one must not look good. */
export async function checkPresentedCredential(context: GatewayContext): Promise<void> {
  const credential = presentedCredential(context);
  if (credential !== undefined) await lookUpCredential(context, credential);
}
