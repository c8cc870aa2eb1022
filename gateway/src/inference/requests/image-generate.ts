import { fail } from "@inference/protocol/errors";
import { imageGenerateRequest } from "@inference/protocol/wire/image-generate";
import { validate } from "../../http/json/validate.ts";
import { checkListed, findModel } from "./find-model.ts";
import { checkPrompt, defaultResolution, imageOrder, qualitiesOf, resolutionsOf } from "./image-options.ts";
import { type ParsedOrder, writeBody } from "./order.ts";
import type { OrderContext } from "./order-context.ts";
import { dropped, type FieldRule, oneOf, sortFields, unpriced, unsupported } from "./sort-fields.ts";

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

const rules: ReadonlyMap<string, FieldRule> = new Map([
  ["user", dropped()],
  ["anon_user_id", dropped()],
  ["metadata", dropped()],
  ["enhance_prompt", unpriced("Write the prompt as you want it.", oneOf(false))],
  ["enable_web_search", unpriced("Put what the image needs into the prompt.", oneOf(false, "off"))],
  ["style_references", unpriced("Leave it out.", isEmptyList)],
  ["inpaint", unsupported("Leave it out.")],
  ["image", unsupported("This route makes images from text only.")],
  ["n", unsupported("Send `variants`.", oneOf(1))],
  ["size", unsupported("Send `resolution` or `aspect_ratio`.")],
]);

/** POST /image/generate. */
export function parseImageGenerateOrder(body: unknown, context: OrderContext): ParsedOrder {
  const { known, ignored } = sortFields(body, imageGenerateRequest.shape, rules);
  const model = findModel(known.model, "image", context);
  const request = validate(imageGenerateRequest, known);
  const { resolution, quality, variants = 1 } = request;
  checkPrompt(request.prompt, model);
  checkListed("resolution", resolution, resolutionsOf(model), model.id);
  checkListed("quality", quality, qualitiesOf(model), model.id);
  if (request.return_binary === true && variants > 1) {
    const message = "`return_binary` returns one image. Send `variants: 1`, or leave `return_binary` out.";
    fail("invalid_request", message, { param: "return_binary" });
  }
  const sent = { upstreamPath: "/image/generate", upstreamBody: writeBody({ ...request, model: model.id }) };
  const terms = {
    resolution: resolution ?? defaultResolution(model),
    quality: quality ?? model.features.defaultQuality,
    count: variants,
  };
  return imageOrder(sent, { model, ignored, snapshotId: context.snapshot.id }, terms);
}
