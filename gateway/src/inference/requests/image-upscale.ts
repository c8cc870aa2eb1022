import { fail } from "@inference/protocol/errors";
import { imageUpscaleRequest } from "@inference/protocol/wire/image-edits";
import { validate } from "../../http/json/validate.ts";
import { findModel } from "./find-model.ts";
import { writeWithImage } from "./image-file.ts";
import { imageOrder } from "./image-options.ts";
import type { ParsedOrder } from "./order.ts";
import type { OrderContext } from "./order-context.ts";
import { dropped, type FieldRule, oneOf, sortFields, unsupported } from "./sort-fields.ts";

const old = unsupported("Send `creativity`, or leave it out.", oneOf(false, "false"));
const rules: ReadonlyMap<string, FieldRule> = new Map([
  ["user", dropped()],
  ["enhance", old],
  ["enhanceCreativity", old],
  ["enhancePrompt", old],
  ["replication", old],
]);

/** POST /image/upscale. The provider's request names no model: there is one. */
export function parseImageUpscaleOrder(body: unknown, context: OrderContext): ParsedOrder {
  const { known, ignored } = sortFields(body, imageUpscaleRequest.shape, rules);
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
