import { imageGenerateAnswer, imagesAnswer } from "@inference/protocol/wire/answers";
import { imageEditRequest, imagesEditsRequest, imageUpscaleRequest } from "@inference/protocol/wire/image-edits";
import { imageGenerateRequest } from "@inference/protocol/wire/image-generate";
import { imagesRequest } from "@inference/protocol/wire/images";
import { json, ok } from "../docs/operation.ts";
import {
  parseImageEditOrder,
  parseImagesEditsOrder,
  parseImageUpscaleOrder,
} from "../inference/requests/image-edits.ts";
import { parseImageGenerateOrder, parseImagesOrder } from "../inference/requests/images.ts";
import { meteredEndpoint } from "./metered-endpoint.ts";

export const createImage = meteredEndpoint({
  path: "/images/generations",
  name: "images",
  id: "createImage",
  title: "An image, as OpenAI's clients ask for one",
  body: { name: "ImagesRequest", schema: imagesRequest },
  answers: [ok("The image.", json("ImagesAnswer", imagesAnswer))],
  parse: parseImagesOrder,
  content: { field: "data", elements: "images" },
  answerFields: ["created", "data", "usage", "size", "quality", "output_format", "background"],
});

export const generateImage = meteredEndpoint({
  path: "/image/generate",
  name: "image_generate",
  id: "generateImage",
  title: "Images, with all options",
  body: { name: "ImageGenerateRequest", schema: imageGenerateRequest },
  answers: [
    ok("The images, or with `return_binary` the bytes of one.", {
      ...json("ImageGenerateAnswer", imageGenerateAnswer),
      "image/*": null,
    }),
  ],
  parse: parseImageGenerateOrder,
  content: { field: "images", elements: "images" },
  answerFields: ["id", "images", "timing", "request"],
});

export const createImageEdit = meteredEndpoint({
  path: "/images/edits",
  name: "images_edits",
  id: "createImageEdit",
  title: "An edited image, as OpenAI's clients ask for one",
  body: { name: "ImagesEditsRequest", schema: imagesEditsRequest },
  bodyType: "form",
  bodyLimit: "chatBodyBytes",
  answers: [ok("The image, in base64.", json("ImagesAnswer", imagesAnswer))],
  parse: parseImagesEditsOrder,
  content: { field: "data", elements: "images" },
  answerFields: ["created", "data"],
});

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
});

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
});
