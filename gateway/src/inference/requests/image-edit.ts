import { imageEditRequest } from "@inference/protocol/wire/image-edits";
import type * as z from "zod";
import { validate } from "../../http/json/validate.ts";
import { checkListed, findModel, type ModelOf } from "./find-model.ts";
import { writeWithImage } from "./image-file.ts";
import { checkPrompt, defaultResolution, imageOrder, qualitiesOf, resolutionsOf } from "./image-options.ts";
import type { ParsedOrder } from "./order.ts";
import type { OrderContext } from "./order-context.ts";
import { dropped, type FieldRule, oneOf, sortFields, unpriced, unsupported } from "./sort-fields.ts";

const rules: ReadonlyMap<string, FieldRule> = new Map([
  ["user", dropped()],
  ["disable_prompt_optimization_thinking", dropped()],
  ["modelId", unsupported("Send `model`.")],
  ["images", unsupported("Send one `image`.")],
  ["enhance_prompt", unpriced("Write the prompt as you want it.", oneOf(false, "false"))],
]);

/** POST /image/edit. The answer is the image's bytes. */
export function parseImageEditOrder(body: unknown, context: OrderContext): ParsedOrder {
  const { known, ignored } = sortFields(body, imageEditRequest.shape, rules);
  const model = findModel(known.model, "edit", context);
  const request = validate(imageEditRequest, known);
  checkListed("resolution", request.resolution, resolutionsOf(model), model.id);
  checkListed("quality", request.quality, qualitiesOf(model), model.id);
  return editOrder(request, { model, ignored, snapshotId: context.snapshot.id });
}

type Edit = Omit<z.infer<typeof imageEditRequest>, "model">;

/** The order for an edit of one image. The resolution is always sent, so the provider uses the priced one. */
export function editOrder(
  { prompt, image, resolution, quality, aspect_ratio, output_format, safe_mode }: Edit,
  of: { model: ModelOf<"edit">; ignored: string[]; snapshotId: string },
): ParsedOrder {
  const { model } = of;
  checkPrompt(prompt, model);
  const listed = resolutionsOf(model);
  const chosen = resolution ?? defaultResolution(model) ?? (listed.includes(USUAL) ? USUAL : listed[0]);
  const sent = listed.length === 0 ? undefined : chosen;
  const fields = { model: model.id, prompt, resolution: sent, quality, aspect_ratio, output_format, safe_mode };
  const terms = { resolution: chosen, quality: quality ?? model.features.defaultQuality };
  return imageOrder({ upstreamPath: "/image/edit", ...writeWithImage(fields, image) }, of, terms);
}

/** The provider's resolution if a request names none. */
const USUAL = "1K";
