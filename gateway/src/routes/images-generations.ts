import { imagesAnswer } from "@inference/protocol/wire/answers";
import { imagesRequest } from "@inference/protocol/wire/images";
import { json, ok } from "../docs/operation.ts";
import { parseImagesOrder } from "../inference/requests/images.ts";
import { meteredEndpoint } from "./metered-endpoint.ts";

export const createImage = meteredEndpoint({
  path: "/images/generations",
  name: "images",
  id: "createImage",
  title: "An image, as OpenAI's clients ask for one",
  body: { name: "ImagesRequest", schema: imagesRequest },
  answers: [ok("The image.", json("ImagesAnswer", imagesAnswer))],
  parse: parseImagesOrder,
  passesThrough: false,
  content: { field: "data", elements: "images" },
  answerFields: ["created", "data", "usage", "size", "quality", "output_format", "background"],
});
