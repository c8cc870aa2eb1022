import * as z from "zod";
import { isFile } from "./file.ts";

// The bodies of POST /image/edit, /images/edits and /image/upscale. Every value of a form except a file is a text.

const file = { type: "string", format: "binary" };
const imageFile = z
  .custom<{ bytes: Uint8Array }>(isFile, { message: "must be a file" })
  .meta({ ...file, description: "PNG, JPEG or WebP." });
const image = z
  .custom<string | { bytes: Uint8Array }>((value) => (typeof value === "string" && value !== "") || isFile(value), {
    message: "must be a file, or base64, a data URL or a URL",
  })
  .meta({
    ...file,
    description: "A file in a form, or a text in JSON: base64, a data URL or a URL that the provider can read.",
  });
const isShare = (value: unknown): boolean =>
  (typeof value === "number" || (typeof value === "string" && /^(\d|\d?\.\d{1,6})$/.test(value))) &&
  Number(value) >= 0 &&
  Number(value) <= 1;
const flag = z.union([z.boolean(), z.enum(["true", "false"])]);

/** The provider's own endpoint. */
export const imageEditRequest = z.strictObject({
  model: z.string().min(1),
  prompt: z.string().min(1),
  image,
  aspect_ratio: z
    .string()
    .regex(/^(auto|\d{1,3}:\d{1,3})$/, "expected a ratio like 16:9, or auto")
    .optional(),
  resolution: z.string().min(1).max(10).optional(),
  quality: z.string().min(1).max(32).optional(),
  output_format: z.enum(["jpeg", "png", "webp"]).optional(),
  safe_mode: flag.optional(),
});

/** The sizes of OpenAI's form, and the provider's ratios for them. */
export const editSizes = {
  auto: "auto",
  "256x256": "1:1",
  "512x512": "1:1",
  "1024x1024": "1:1",
  "1536x1024": "3:2",
  "1024x1536": "2:3",
} as const;

/** OpenAI's form. */
export const imagesEditsRequest = z.strictObject({
  model: z.string().min(1),
  prompt: z.string().min(1),
  image: imageFile.optional(),
  "image[]": z.array(imageFile).max(16).optional().describe("A list of one image."),
  n: z.literal("1").optional(),
  size: z.enum(Object.keys(editSizes) as (keyof typeof editSizes)[]).optional(),
  quality: z.string().min(1).max(32).optional(),
  output_format: z.enum(["jpeg", "png", "webp"]).optional(),
});

export const imageUpscaleRequest = z.strictObject({
  model: z.string().min(1).optional().describe("The only model for upscaling, if absent."),
  image,
  scale: z
    .union([z.literal(2), z.literal(4), z.literal("2"), z.literal("4")])
    .optional()
    .describe("The factor, 2 if absent."),
  creativity: z
    .custom<number | string>(isShare, { message: "expected a number from 0 to 1" })
    .meta({
      type: "number",
      minimum: 0,
      maximum: 1,
      description: "The detail that is added. The provider takes 0 to 0.02.",
    })
    .optional(),
});
