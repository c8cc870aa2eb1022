import * as z from "zod";
import { list } from "./json.ts";

/** The body of POST /embeddings: only the fields that are sent on to the provider. */
export const MAX_EMBEDDING_INPUTS = 2048;

export const embeddingsRequest = z.strictObject({
  model: z.string().min(1),
  input: z.union([z.string().min(1), list(z.string().min(1), MAX_EMBEDDING_INPUTS).min(1)]),
  encoding_format: z.enum(["float", "base64"]).optional(),
  dimensions: z.int().min(1).max(65_536).optional(),
});
