import { parseChatOrder } from "./requests/chat.ts";
import { parseEmbeddingsOrder } from "./requests/embeddings.ts";
import { parseImageGenerateOrder } from "./requests/image-generate.ts";
import { parseImagesOrder } from "./requests/images.ts";
import type { WrittenOrder } from "./requests/order.ts";
import type { OrderContext } from "./requests/order-context.ts";
import { parseSpeechOrder } from "./requests/speech.ts";
import type { ElementKind } from "./stream/json-elements.ts";

/**
 * Every path that can cost money, and nothing else ever does: the table grows by metered entries, never by a wildcard.
 * The provider's path is part of the order that a route's `parse` makes.
 */
export type InferenceRoute = {
  name: "chat" | "embeddings" | "images" | "image_generate" | "speech";
  /** Below `/api/v1` and `/v1`. */
  path: string;
  /** The answer's bytes go to the client as they come, whatever the request said. */
  passesThrough: boolean;
  /** The list in a whole JSON answer that is what was asked for; null where answers are bytes only. */
  content: { field: "choices" | "data" | "images"; elements: ElementKind } | null;
  /** The fields of a whole JSON answer that a client gets to see. */
  answerFields: readonly string[];
  /** The order, in pieces of work where the body is large. Throws `GatewayError` for what cannot be priced or served. */
  parse(body: unknown, context: OrderContext): Generator<void, WrittenOrder>;
};

export const inferenceRoutes: readonly InferenceRoute[] = [
  {
    name: "chat",
    path: "/chat/completions",
    passesThrough: false,
    content: { field: "choices", elements: "choices" },
    answerFields: ["id", "object", "created", "model", "choices", "usage", "system_fingerprint", "service_tier"],
    parse: parseChatOrder,
  },
  {
    name: "embeddings",
    path: "/embeddings",
    passesThrough: false,
    content: { field: "data", elements: "embeddings" },
    answerFields: ["object", "model", "data", "usage"],
    parse: parseEmbeddingsOrder,
  },
  {
    name: "images",
    path: "/images/generations",
    passesThrough: false,
    content: { field: "data", elements: "images" },
    answerFields: ["created", "data", "usage", "size", "quality", "output_format", "background"],
    parse: parseImagesOrder,
  },
  {
    name: "image_generate",
    path: "/image/generate",
    passesThrough: false,
    content: { field: "images", elements: "images" },
    answerFields: ["id", "images", "timing", "request"],
    parse: parseImageGenerateOrder,
  },
  {
    name: "speech",
    path: "/audio/speech",
    passesThrough: true,
    content: null,
    answerFields: [],
    parse: parseSpeechOrder,
  },
];
