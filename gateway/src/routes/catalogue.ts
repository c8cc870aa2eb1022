import { fail, GatewayError } from "@inference/protocol/errors";
import { catalogueQuery } from "@inference/protocol/wire/catalogue";
import * as z from "zod";
import type { GatewayContext } from "../http/context.ts";
import { validate } from "../inference/requests/validate.ts";
import { checkPresentedCredential } from "./models.ts";

/**
 * The provider's free reads beside the models: names that stand for models, and the styles of images. Public, as the
 * models are, and written anew: a name is shown if the model it stands for can be had here.
 */
export const getModelTraits = modelNames("/models/traits");
export const getModelCompatibility = modelNames("/models/compatibility_mapping");

/** GET /image/styles: what `style_preset` may be. */
export async function getImageStyles(context: GatewayContext): Promise<Response> {
  await checkPresentedCredential(context);
  return context.json(parse(stylesShape, await read(context, "/image/styles")));
}

const namesShape = z.object({ data: z.record(z.string(), z.string()) });
const stylesShape = z.object({ object: z.literal("list"), data: z.array(z.string()) });

function modelNames(path: string) {
  return async function getModelNames(context: GatewayContext): Promise<Response> {
    await checkPresentedCredential(context);
    const { type } = validate(catalogueQuery, context.req.query());
    const { data } = parse(namesShape, await read(context, `${path}?type=${type}`));
    const { models } = context.var.gateway.prices.current();
    const served = Object.entries(data).filter(([, model]) => models.has(model));
    return context.json({ object: "list", type, data: Object.fromEntries(served) });
  };
}

async function read(context: GatewayContext, path: string): Promise<unknown> {
  const answer = await context.var.gateway.catalogueReads.read(path);
  return answer ?? fail("not_found", "The provider has no such list.");
}

function parse<T extends z.ZodType>(shape: T, answer: unknown): z.output<T> {
  const { success, data } = shape.safeParse(answer);
  if (success) return data;
  throw new GatewayError({
    code: "upstream_error",
    message: "The provider's list has an unknown format.",
  });
}
