import { imageEditRequest } from "@inference/protocol/wire/image-edits";
import { ok } from "../docs/operation.ts";
import { parseImageEditOrder } from "../inference/requests/image-edit.ts";
import { meteredEndpoint } from "./metered-endpoint.ts";

export const editImage = meteredEndpoint({
  path: "/image/edit",
  name: "image_edit",
  id: "editImage",
  title: "An edited image, with all options",
  body: { name: "ImageEditRequest", schema: imageEditRequest },
  bodyType: "json or form",
  bodyLimit: "chatBodyBytes",
  answers: [ok("The bytes of the image.", { "image/*": null })],
  parse: parseImageEditOrder,
  passesThrough: false,
  content: null,
  answerFields: [],
});
