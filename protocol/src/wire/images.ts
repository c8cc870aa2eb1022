import * as z from "zod";

/** The body of POST /images/generations: one image, by size. The provider's own endpoint has more options. */
export const imageSizes = [
  "auto",
  "256x256",
  "512x512",
  "1024x1024",
  "1536x1024",
  "1024x1536",
  "1792x1024",
  "1024x1792",
] as const;
export type ImageSize = (typeof imageSizes)[number];

export const imagesRequest = z.strictObject({
  model: z.string().min(1),
  prompt: z.string().min(1),
  n: z.literal(1).optional(),
  size: z.enum(imageSizes).optional(),
  response_format: z.enum(["b64_json", "url"]).optional(),
  output_format: z.enum(["jpeg", "png", "webp"]).optional(),
  moderation: z.enum(["auto", "low"]).optional(),
  quality: z.string().max(32).optional(),
});
