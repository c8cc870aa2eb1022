import { fail } from "@inference/protocol/errors";
import { toModelObject } from "../../metering/model-object.ts";
import type { GatewayContext } from "../context.ts";
import { presentedCredential } from "../credential.ts";
import { lookUpCredential } from "../identify.ts";

/** GET /models: public, and exactly what some route can price and serve. A key that is sent must be good. */
export async function listModels(context: GatewayContext): Promise<Response> {
  await checkPresentedCredential(context);
  const { models } = context.var.gateway.prices.current();
  return context.json({ object: "list", data: [...models.values()].map(toModelObject) });
}

export async function getModel(context: GatewayContext): Promise<Response> {
  await checkPresentedCredential(context);
  const id = context.req.param("id") ?? "";
  const model = context.var.gateway.prices.current().models.get(id);
  if (model === undefined) return fail("model_not_found", `There is no model \`${id}\` here: see GET /api/v1/models.`);
  return context.json(toModelObject(model));
}

/** Clients try a key by listing the models: a bad one must not look good. */
export async function checkPresentedCredential(context: GatewayContext): Promise<void> {
  const credential = presentedCredential(context);
  if (credential !== undefined) await lookUpCredential(context, credential);
}
