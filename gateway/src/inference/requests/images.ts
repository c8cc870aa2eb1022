import { fail } from "@inference/protocol/errors";
import type { ImageTable, Model } from "@inference/protocol/model";
import { imageGenerateRequest } from "@inference/protocol/wire/image-generate";
import { type ImageSize, imagesRequest } from "@inference/protocol/wire/images";
import { type FieldRefusal, validate } from "../../http/json/validate.ts";
import { checkListed, findModel, type ModelOf } from "./find-model.ts";
import { type OrderContext, type ParsedOrder, writeBody } from "./order.ts";
import {
  dropped,
  type FieldRule,
  isEmptyList,
  nothing,
  oneOf,
  sortFields,
  unpriced,
  unsupported,
} from "./sort-fields.ts";

const native = "Send the request to /v1/image/generate, which has more options.";

const generationsRules: ReadonlyMap<string, FieldRule> = new Map([
  ...dropped("user", "metadata", "style", "output_compression"),
  ["background", unsupported("Leave it out.", oneOf("auto", "opaque"))],
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
  const { known, ignored } = sortFields(body, imagesRequest.shape, generationsRules);
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

const generateRules: ReadonlyMap<string, FieldRule> = new Map([
  ...dropped("user", "anon_user_id", "metadata"),
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
  const { known, ignored } = sortFields(body, imageGenerateRequest.shape, generateRules);
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

type ImageModel = Model & { price: ImageTable };

/**
 * The order for images, which cost a flat price each.
 *
 * @param sent The path and the body to send.
 */
export function imageOrder(
  sent: Pick<ParsedOrder, "upstreamPath" | "upstreamBody" | "upstreamType">,
  {
    model,
    ignored,
    snapshotId,
  }: { model: ModelOf<"image" | "edit" | "upscale">; ignored: string[]; snapshotId: string },
  { resolution, quality, count = 1 }: { resolution: string | undefined; quality?: string | undefined; count?: number },
): ParsedOrder {
  const terms = { snapshotId, price: model.price, resolution, quality, count };
  return { ...sent, model, stream: false, ignored, terms: { kind: "image", ...terms } };
}

/** The resolutions a model lists; none if it has one price for all. */
export function resolutionsOf({ price }: ImageModel): string[] {
  const listed = new Set([...Object.keys(price.byResolution), ...Object.keys(price.byQuality ?? {})]);
  listed.delete("*");
  return [...listed];
}

/** The resolution if the request names none: `*` if all have one price, undefined if it is unknown. */
export function defaultResolution(model: ImageModel): string | undefined {
  const listed = resolutionsOf(model);
  if (listed.length === 0) return "*";
  if (listed.length === 1) return listed[0];
  const { defaultResolution: preset } = model.features;
  return preset !== undefined && listed.includes(preset) ? preset : undefined;
}

/** The listed resolution whose area is nearest to a size. `1K` is an area of 1024 x 1024 pixels. */
function resolutionOfSize(size: ImageSize, model: ImageModel): string | undefined {
  const [width, height] = size.split("x").map(Number);
  if (width === undefined || height === undefined) return defaultResolution(model);
  const distance = (side: number): number => Math.abs(Math.log((side * side) / (width * height)));
  let nearest: { resolution: string; side: number } | undefined;
  for (const resolution of resolutionsOf(model)) {
    const side = sideOf(resolution);
    if (side === undefined) continue;
    if (nearest === undefined || distance(side) < distance(nearest.side)) nearest = { resolution, side };
  }
  return nearest?.resolution ?? defaultResolution(model);
}

/** `1K`, `0.5K`, `2048`. */
function sideOf(resolution: string): number | undefined {
  const match = /^(\d{1,5}(?:\.\d{1,3})?)(k?)$/i.exec(resolution);
  if (match === null) return undefined;
  const side = Number(match[1]) * (match[2] === "" ? 1 : 1024);
  return side > 0 ? side : undefined;
}

/** The qualities a model lists, or has prices for. */
export function qualitiesOf({ price, features }: ImageModel): string[] {
  const priced = Object.values(price.byQuality ?? {}).flatMap((table) => Object.keys(table));
  return [...new Set([...(features.qualities ?? []), ...priced])];
}

export function checkPrompt(prompt: string, model: ImageModel): void {
  const { promptCharacterLimit: limit } = model.features;
  if (limit === undefined || prompt.length <= limit) return;
  const message = `\`prompt\` has ${prompt.length} characters, \`${model.id}\` takes at most ${limit}. Shorten it.`;
  fail("invalid_request", message, { param: "prompt" });
}
