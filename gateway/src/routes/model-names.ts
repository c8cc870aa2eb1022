import { catalogueQuery } from "@inference/protocol/wire/catalogue";
import * as z from "zod";
import type { GatewayContext } from "../http/context.ts";
import { checkPresentedCredential } from "../http/identify.ts";
import { validate } from "../http/json/validate.ts";
import { queryOf } from "../http/query.ts";
import { readProviderList } from "./provider-list.ts";

const namesShape = z.object({ data: z.record(z.string(), z.string()) });

/** Answers with the provider's names for models. A name is listed if its model can be served. */
export async function answerModelNames(context: GatewayContext, path: string): Promise<Response> {
  await checkPresentedCredential(context);
  const { type } = validate(catalogueQuery, queryOf(context));
  const { data } = await readProviderList(context, `${path}?type=${type}`, namesShape);
  const { models } = context.var.gateway.prices.current();
  const served = Object.entries(data).filter(([, model]) => models.has(model));
  return context.json({ object: "list", type, data: Object.fromEntries(served) });
}
