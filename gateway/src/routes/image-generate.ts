import { imageGenerateAnswer } from "@inference/protocol/wire/answers";
import { imageGenerateRequest } from "@inference/protocol/wire/image-generate";
import { json, ok } from "../docs/operation.ts";
import { parseImageGenerateOrder } from "../inference/requests/image-generate.ts";
import { meteredEndpoint } from "./metered-endpoint.ts";

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
  passesThrough: false,
  content: { field: "images", elements: "images" },
  answerFields: ["id", "images", "timing", "request"],
});
