import { fail } from "@inference/protocol/errors";
import { imagesRequest } from "@inference/protocol/wire/images";
import { type FieldRefusal, validate } from "../../http/json/validate.ts";
import { findModel, type ModelOf } from "./find-model.ts";
import { checkPrompt, imageOrder, resolutionOfSize } from "./image-options.ts";
import { type ParsedOrder, writeBody } from "./order.ts";
import type { OrderContext } from "./order-context.ts";
import { dropped, type FieldRule, nothing, oneOf, sortFields, unpriced, unsupported } from "./sort-fields.ts";

const native = "Send the request to /v1/image/generate, which has more options.";

const rules: ReadonlyMap<string, FieldRule> = new Map([
  ["user", dropped()],
  ["metadata", dropped()],
  ["style", dropped()],
  ["background", unsupported("Leave it out.", oneOf("auto", "opaque"))],
  ["output_compression", dropped()],
  ["partial_images", unsupported("The image comes whole: leave it out.", oneOf(0))],
  ["stream", unsupported("The image comes whole: send `false` or leave it out.", oneOf(false))],
  ["input_fidelity", unsupported("Leave it out.")],
  ["resolution", unsupported(native)],
  ["variants", unsupported(native, oneOf(1))],
  ["enhance_prompt", unpriced("Leave it out.", oneOf(false))],
  ["enable_web_search", unpriced("Leave it out.", oneOf(false, "off"))],
  ["style_references", unpriced("Leave it out.", nothing)],
]);

const refusals: readonly FieldRefusal[] = [
  {
    at: /^n$/,
    code: "unsupported_parameter",
    advice: "this route makes one image a request. Send `n: 1`, or `variants` (1 to 4) to /v1/image/generate.",
  },
];

/** POST /images/generations: one image, in the model's default quality. */
export function parseImagesOrder(body: unknown, context: OrderContext): ParsedOrder {
  const { known, ignored } = sortFields(body, imagesRequest.shape, rules);
  const model = findModel(known.model, "image", context);
  const { quality, ...request } = validate(imagesRequest, known, refusals);
  checkPrompt(request.prompt, model);
  if (quality !== undefined) {
    checkQuality(quality, model);
    ignored.push("quality");
  }
  const upstreamBody = writeBody({ ...request, model: model.id, user: context.user });
  const resolution = resolutionOfSize(request.size ?? "auto", model);
  return imageOrder(
    { upstreamPath: "/images/generations", upstreamBody },
    { model, ignored, snapshotId: context.snapshot.id },
    { resolution, quality: model.features.defaultQuality },
  );
}

/** The provider accepts any quality here and makes its default. If qualities differ in price, any other is refused. */
function checkQuality(quality: string, model: ModelOf<"image">): void {
  const { defaultQuality } = model.features;
  if (model.price.byQuality === undefined || quality === "auto" || quality === defaultQuality) return;
  const message = `\`quality\` is always ${defaultQuality ?? "the default"} on this route. ${native}`;
  fail("unsupported_parameter", message, { param: "quality" });
}
