import { fail, GatewayError } from "@inference/protocol/errors";
import { imageStylesAnswer, modelNamesAnswer } from "@inference/protocol/wire/answers";
import { catalogueQuery } from "@inference/protocol/wire/catalogue";
import * as z from "zod";
import { json, ok } from "../docs/operation.ts";
import type { GatewayContext } from "../http/context.ts";
import { checkPresentedCredential } from "../http/identify.ts";
import { validate } from "../http/json/validate.ts";
import { queryOf } from "../http/query.ts";
import { apiPrefixes, endpoint } from "./endpoint.ts";
import { providerListErrors } from "./endpoint-errors.ts";

export const getModelTraits = endpoint({
  prefixes: apiPrefixes,
  path: "/models/traits",
  id: "getModelTraits",
  group: "Inference",
  title: "Models by what they are good for",
  about: "As the provider has it, for models that can be served. Use the id: a trait is no name of a model here.",
  query: catalogueQuery,
  answers: [ok("A model for each trait.", json("ModelNamesAnswer", modelNamesAnswer))],
  errors: providerListErrors,
  handle: (context) => answerModelNames(context, "/models/traits"),
});

export const getModelCompatibility = endpoint({
  prefixes: apiPrefixes,
  path: "/models/compatibility_mapping",
  id: "getModelCompatibility",
  group: "Inference",
  title: "Models by the names of others'",
  about: "As the provider has it, for models that can be served. Use the id: such a name is no name of a model here.",
  query: catalogueQuery,
  answers: [ok("A model for each name.", json("ModelNamesAnswer", modelNamesAnswer))],
  errors: providerListErrors,
  handle: (context) => answerModelNames(context, "/models/compatibility_mapping"),
});

const stylesShape = z.object({ object: z.literal("list"), data: z.array(z.string()) });

export const getImageStyles = endpoint({
  prefixes: apiPrefixes,
  path: "/image/styles",
  id: "getImageStyles",
  group: "Inference",
  title: "What `style_preset` of an image may be",
  answers: [ok("The styles.", json("ImageStylesAnswer", imageStylesAnswer))],
  errors: providerListErrors,
  async handle(context) {
    await checkPresentedCredential(context);
    return context.json(await readProviderList(context, "/image/styles", stylesShape));
  },
});

const namesShape = z.object({ data: z.record(z.string(), z.string()) });

/** Answers with the provider's names for models. A name is listed if its model can be served. */
async function answerModelNames(context: GatewayContext, path: string): Promise<Response> {
  await checkPresentedCredential(context);
  const { type } = validate(catalogueQuery, queryOf(context));
  const { data } = await readProviderList(context, `${path}?type=${type}`, namesShape);
  const { models } = context.var.gateway.prices.current();
  const served = Object.entries(data).filter(([, model]) => models.has(model));
  return context.json({ object: "list", type, data: Object.fromEntries(served) });
}

/** Reads a free list of the provider. Fields that the shape does not name are dropped. */
async function readProviderList<T extends z.ZodType>(
  context: GatewayContext,
  path: string,
  shape: T,
): Promise<z.output<T>> {
  const list =
    (await context.var.gateway.catalogueReads.read(path)) ?? fail("not_found", "The provider has no such list.");
  const { success, data } = shape.safeParse(list);
  if (success) return data;
  throw new GatewayError({
    code: "upstream_error",
    message: "The provider's list has an unknown format.",
  });
}
