import { fail } from "@inference/protocol/errors";
import { isFile } from "@inference/protocol/wire/file";
import {
  editSizes,
  imageEditRequest,
  imagesEditsRequest,
  imageUpscaleRequest,
} from "@inference/protocol/wire/image-edits";
import type * as z from "zod";
import { type FieldRefusal, validate } from "../../http/json/validate.ts";
import { checkListed, findModel, type ModelOf } from "./find-model.ts";
import { checkPrompt, defaultResolution, imageOrder, qualitiesOf, resolutionsOf } from "./images.ts";
import { type OrderContext, type ParsedOrder, writeBody } from "./order.ts";
import { dropped, type FieldRule, oneOf, sortFields, unpriced, unsupported } from "./sort-fields.ts";
import { writeForm } from "./write-form.ts";

const editsRules: ReadonlyMap<string, FieldRule> = new Map([
  ...dropped("user", "moderation", "output_compression"),
  ["background", unsupported("Leave it out.", oneOf("auto", "opaque"))],
  ["response_format", unsupported("The image comes in base64: send `b64_json` or leave it out.", oneOf("b64_json"))],
  ["stream", unsupported("The image comes whole: send `false` or leave it out.", oneOf("false"))],
  ["partial_images", unsupported("The image comes whole: leave it out.", oneOf("0"))],
  ["input_fidelity", unsupported("Leave it out.", oneOf("low"))],
  ["mask", unsupported("Say in the prompt what to change.")],
]);

const refusals: readonly FieldRefusal[] = [
  { at: /^n$/, code: "unsupported_parameter", advice: "this route makes one image a request. Send `n: 1`." },
];

/** POST /images/edits, OpenAI's form. The image's bytes come from the provider, and go on in JSON. */
export function parseImagesEditsOrder(body: unknown, context: OrderContext): ParsedOrder {
  const { known, ignored } = sortFields(body, imagesEditsRequest.shape, editsRules);
  const model = findModel(known.model, "edit", context);
  const {
    image,
    "image[]": images = [],
    size = "auto",
    quality = "auto",
    ...request
  } = validate(imagesEditsRequest, known, refusals);
  const [first, ...more] = [...(image === undefined ? [] : [image]), ...images];
  if (first === undefined) fail("invalid_request", "`image` is missing. Send one file.", { param: "image" });
  if (more.length > 0)
    fail("unsupported_parameter", "`image` must be one file. Send the first alone.", { param: "image" });
  const chosen = quality === "auto" ? undefined : quality;
  checkListed("quality", chosen, qualitiesOf(model), model.id);
  const { prompt, output_format } = request;
  const edit = { prompt, image: first, quality: chosen, output_format, aspect_ratio: editSizes[size] };
  return { ...editOrder(edit, { model, ignored, snapshotId: context.snapshot.id }), answerAs: "base64" };
}

const editRules: ReadonlyMap<string, FieldRule> = new Map([
  ...dropped("user", "disable_prompt_optimization_thinking"),
  ["modelId", unsupported("Send `model`.")],
  ["images", unsupported("Send one `image`.")],
  ["enhance_prompt", unpriced("Write the prompt as you want it.", oneOf(false, "false"))],
]);

/** POST /image/edit. The answer is the image's bytes. */
export function parseImageEditOrder(body: unknown, context: OrderContext): ParsedOrder {
  const { known, ignored } = sortFields(body, imageEditRequest.shape, editRules);
  const model = findModel(known.model, "edit", context);
  const request = validate(imageEditRequest, known);
  checkListed("resolution", request.resolution, resolutionsOf(model), model.id);
  checkListed("quality", request.quality, qualitiesOf(model), model.id);
  return editOrder(request, { model, ignored, snapshotId: context.snapshot.id });
}

type Edit = Omit<z.infer<typeof imageEditRequest>, "model">;

/** The order for an edit of one image. The resolution is always sent, so the provider uses the priced one. */
function editOrder(
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

const old = unsupported("Send `creativity`, or leave it out.", oneOf(false, "false"));
const upscaleRules: ReadonlyMap<string, FieldRule> = new Map([
  ...dropped("user"),
  ["enhance", old],
  ["enhanceCreativity", old],
  ["enhancePrompt", old],
  ["replication", old],
]);

/** POST /image/upscale. The provider's request names no model: there is one. */
export function parseImageUpscaleOrder(body: unknown, context: OrderContext): ParsedOrder {
  const { known, ignored } = sortFields(body, imageUpscaleRequest.shape, upscaleRules);
  const model = findModel(known.model ?? onlyModel(context), "upscale", context);
  const { image, scale = 2, creativity } = validate(imageUpscaleRequest, known);
  const fields = { scale: Number(scale), creativity: creativity === undefined ? creativity : Number(creativity) };
  const sent = { upstreamPath: "/image/upscale", ...writeWithImage(fields, image) };
  return imageOrder(sent, { model, ignored, snapshotId: context.snapshot.id }, { resolution: `${scale}x` });
}

function onlyModel({ snapshot }: OrderContext): string {
  const [first, ...more] = [...snapshot.models.values()].filter(({ price }) => price.kind === "upscale");
  if (first === undefined) fail("model_not_found", "The provider lists no model for upscaling.", { param: "model" });
  if (more.length > 0) {
    fail("invalid_request", "`model` is missing. GET /v1/models lists those of the type upscale.", { param: "model" });
  }
  return first.id;
}

type Sent = { upstreamBody: Uint8Array; upstreamType?: string };

/** Writes a request with an image in the form that the client used: a file in a form, a text in JSON. */
function writeWithImage(
  fields: Readonly<Record<string, string | number | boolean | undefined>>,
  image: string | { bytes: Uint8Array },
): Sent {
  if (!isFile(image)) return { upstreamBody: writeBody({ ...fields, image }) };
  const texts = Object.entries(fields).map(([name, value]) => [name, value === undefined ? value : String(value)]);
  return writeForm(Object.fromEntries(texts), { image: imageFile(image.bytes) });
}

/** The first bytes of each format that providers take. */
const formats: readonly [name: string, type: string, isOne: (text: string) => boolean][] = [
  ["image.png", "image/png", (text) => text.startsWith("\u0089PNG")],
  ["image.jpg", "image/jpeg", (text) => text.startsWith("\u00ff\u00d8\u00ff")],
  ["image.webp", "image/webp", (text) => text.startsWith("RIFF") && text.slice(8, 12) === "WEBP"],
];

function imageFile(bytes: Uint8Array) {
  const text = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  const [name, type] = formats.find(([, , isOne]) => isOne(text)) ?? [];
  if (name === undefined || type === undefined) {
    return fail("invalid_request", "The file `image` must be PNG, JPEG or WebP.", { param: "image" });
  }
  return { name, type, bytes };
}
