import { embeddingsAnswer } from "@inference/protocol/wire/answers";
import { embeddingsRequest } from "@inference/protocol/wire/embeddings";
import { json, ok } from "../docs/operation.ts";
import { parseEmbeddingsOrder } from "../inference/requests/embeddings.ts";
import { meteredEndpoint } from "./metered-endpoint.ts";

export const createEmbeddings = meteredEndpoint({
  path: "/embeddings",
  name: "embeddings",
  id: "createEmbeddings",
  title: "Embeddings",
  body: { name: "EmbeddingsRequest", schema: embeddingsRequest },
  answers: [ok("One embedding for each input.", json("EmbeddingsAnswer", embeddingsAnswer))],
  parse: parseEmbeddingsOrder,
  content: { field: "data", elements: "embeddings" },
  answerFields: ["object", "model", "data", "usage"],
});
