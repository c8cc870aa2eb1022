import * as answers from "@inference/protocol/wire/answers";
import { catalogueQuery } from "@inference/protocol/wire/catalogue";
import { chatRequest } from "@inference/protocol/wire/chat";
import { embeddingsRequest } from "@inference/protocol/wire/embeddings";
import { imageGenerateRequest } from "@inference/protocol/wire/image-generate";
import { imagesRequest } from "@inference/protocol/wire/images";
import { speechRequest } from "@inference/protocol/wire/speech";
import { json, type Operation, ok } from "../docs/operation.ts";
import { catalogueErrors, knowing, paid } from "./operation-errors.ts";

const inference = (operation: Pick<Operation, "path" | "id" | "title" | "about" | "body" | "answers">): Operation => ({
  method: "POST",
  group: "Inference",
  credentials: ["API key", "session"],
  headers: {
    "Idempotency-Key":
      "A name of your choice for the request, 1 to 255 printable ASCII characters. Retries within 24 hours are charged " +
      "once. All keys of an account share the names of each route: two programs that use one account need different ones.",
  },
  errors: operation.id === "createChatCompletion" ? [...paid, "context_length_exceeded"] : paid,
  ...operation,
});

/** The inference API, which is the same under `/v1`, and the free reads of the catalogue. */
export const inferenceOperations: readonly Operation[] = [
  inference({
    path: "/api/v1/chat/completions",
    id: "createChatCompletion",
    title: "Chat",
    about:
      "Always give `max_tokens`: without it the model's whole maximum output is reserved. With `stream: true` the " +
      "answer is a stream of events, each a chunk, and `[DONE]` at its end. Harmless fields that change nothing, such " +
      "as `user`, are dropped and named in `x-ignored-parameters`; what is not known is refused.",
    body: { name: "ChatRequest", schema: chatRequest },
    answers: [
      ok("The answer; `usage.cost` is what was charged.", {
        ...json("ChatAnswer", answers.chatAnswer),
        "text/event-stream": { name: "ChatChunk", schema: answers.chatChunk },
      }),
    ],
  }),
  inference({
    path: "/api/v1/embeddings",
    id: "createEmbeddings",
    title: "Embeddings",
    body: { name: "EmbeddingsRequest", schema: embeddingsRequest },
    answers: [ok("One embedding for each input.", json("EmbeddingsAnswer", answers.embeddingsAnswer))],
  }),
  inference({
    path: "/api/v1/images/generations",
    id: "createImage",
    title: "An image, as OpenAI's clients ask for one",
    body: { name: "ImagesRequest", schema: imagesRequest },
    answers: [ok("The image.", json("ImagesAnswer", answers.imagesAnswer))],
  }),
  inference({
    path: "/api/v1/image/generate",
    id: "generateImage",
    title: "Images, with all options",
    body: { name: "ImageGenerateRequest", schema: imageGenerateRequest },
    answers: [
      ok("The images, or with `return_binary` the bytes of one.", {
        ...json("ImageGenerateAnswer", answers.imageGenerateAnswer),
        "image/*": null,
      }),
    ],
  }),
  inference({
    path: "/api/v1/audio/speech",
    id: "createSpeech",
    title: "Speech",
    body: { name: "SpeechRequest", schema: speechRequest },
    answers: [ok("The sound, as it is made.", { "audio/*": null })],
  }),
  {
    method: "GET",
    path: "/api/v1/models",
    id: "listModels",
    group: "Inference",
    title: "Every model and its price",
    about:
      "Exactly the models that can be served. Anyone may ask; a key that is sent must be good. A model that costs " +
      "nothing needs no balance.",
    credentials: [],
    answers: [ok("The models.", json("ModelsAnswer", answers.modelsAnswer))],
    errors: ["upstream_unavailable", ...knowing],
  },
  {
    method: "GET",
    path: "/api/v1/models/traits",
    id: "getModelTraits",
    group: "Inference",
    title: "Models by what they are good for",
    about: "As the provider has it, for models that can be served. Use the id: a trait is no name of a model here.",
    credentials: [],
    query: catalogueQuery,
    answers: [ok("A model for each trait.", json("ModelNamesAnswer", answers.modelNamesAnswer))],
    errors: catalogueErrors,
  },
  {
    method: "GET",
    path: "/api/v1/models/compatibility_mapping",
    id: "getModelCompatibility",
    group: "Inference",
    title: "Models by the names of others'",
    about: "As the provider has it, for models that can be served. Use the id: such a name is no name of a model here.",
    credentials: [],
    query: catalogueQuery,
    answers: [ok("A model for each name.", json("ModelNamesAnswer", answers.modelNamesAnswer))],
    errors: catalogueErrors,
  },
  {
    method: "GET",
    path: "/api/v1/image/styles",
    id: "getImageStyles",
    group: "Inference",
    title: "What `style_preset` of an image may be",
    credentials: [],
    answers: [ok("The styles.", json("ImageStylesAnswer", answers.imageStylesAnswer))],
    errors: catalogueErrors,
  },
  {
    method: "GET",
    path: "/api/v1/models/{id}",
    id: "getModel",
    group: "Inference",
    title: "One model",
    credentials: [],
    pathParameters: { id: "The model's id; it may have slashes in it." },
    answers: [ok("The model.", json("ModelAnswer", answers.modelAnswer))],
    errors: ["model_not_found", "upstream_unavailable", ...knowing],
  },
];
