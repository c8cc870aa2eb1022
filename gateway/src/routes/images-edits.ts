import { imagesAnswer } from "@inference/protocol/wire/answers";
import { imagesEditsRequest } from "@inference/protocol/wire/image-edits";
import { json, ok } from "../docs/operation.ts";
import { parseImagesEditsOrder } from "../inference/requests/images-edits.ts";
import { meteredEndpoint } from "./metered-endpoint.ts";

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
  passesThrough: false,
  content: { field: "data", elements: "images" },
  answerFields: ["created", "data"],
});
