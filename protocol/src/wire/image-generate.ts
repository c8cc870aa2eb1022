import * as z from "zod";

/** The body of POST /image/generate: the provider's own image endpoint. Each variant is billed as an image. */
export const MAX_VARIANTS = 4;

export const imageGenerateRequest = z.strictObject({
  model: z.string().min(1),
  prompt: z.string().min(1),
  negative_prompt: z.string().optional(),
  variants: z.int().min(1).max(MAX_VARIANTS).optional(),
  resolution: z.string().min(1).max(32).optional(),
  quality: z.string().min(1).max(32).optional(),
  aspect_ratio: z
    .string()
    .regex(/^\d{1,3}:\d{1,3}$/, "expected a ratio like 16:9")
    .optional(),
  width: z.int().min(1).max(1280).optional(),
  height: z.int().min(1).max(1280).optional(),
  cfg_scale: z.number().min(0).max(100).optional(),
  steps: z.int().min(1).max(500).optional(),
  seed: z.int().optional(),
  style_preset: z.string().max(256).optional(),
  lora_strength: z.number().min(0).max(100).optional(),
  format: z.enum(["jpeg", "png", "webp"]).optional(),
  return_binary: z.boolean().optional(),
  embed_exif_metadata: z.boolean().optional(),
  hide_watermark: z.boolean().optional(),
  safe_mode: z.boolean().optional(),
});
