import { fail } from "@inference/protocol/errors";
import { editSizes, imagesEditsRequest } from "@inference/protocol/wire/image-edits";
import { type FieldRefusal, validate } from "../../http/json/validate.ts";
import { checkListed, findModel } from "./find-model.ts";
import { editOrder } from "./image-edit.ts";
import { qualitiesOf } from "./image-options.ts";
import type { ParsedOrder } from "./order.ts";
import type { OrderContext } from "./order-context.ts";
import { dropped, type FieldRule, oneOf, sortFields, unsupported } from "./sort-fields.ts";

const rules: ReadonlyMap<string, FieldRule> = new Map([
  ["user", dropped()],
  ["moderation", dropped()],
  ["output_compression", dropped()],
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
  const { known, ignored } = sortFields(body, imagesEditsRequest.shape, rules);
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
