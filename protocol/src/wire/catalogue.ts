import * as z from "zod";

/** The kinds of models that some endpoint serves, as the provider's catalogue calls them. */
export const modelTypes = ["text", "embedding", "image", "tts", "asr", "inpaint", "upscale"] as const;

/** The query of `GET /models/traits` and `GET /models/compatibility_mapping`. */
export const catalogueQuery = z.strictObject({
  type: z.enum(modelTypes).default("text").describe("Of which models: `text` unless it is said."),
});
