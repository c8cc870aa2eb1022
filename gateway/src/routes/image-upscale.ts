import { imageUpscaleRequest } from "@inference/protocol/wire/image-edits";
import { ok } from "../docs/operation.ts";
import { parseImageUpscaleOrder } from "../inference/requests/image-upscale.ts";
import { meteredEndpoint } from "./metered-endpoint.ts";

export const upscaleImage = meteredEndpoint({
  path: "/image/upscale",
  name: "image_upscale",
  id: "upscaleImage",
  title: "A larger image",
  body: { name: "ImageUpscaleRequest", schema: imageUpscaleRequest },
  bodyType: "json or form",
  bodyLimit: "chatBodyBytes",
  answers: [ok("The bytes of the image.", { "image/*": null })],
  parse: parseImageUpscaleOrder,
  passesThrough: false,
  content: null,
  answerFields: [],
});
