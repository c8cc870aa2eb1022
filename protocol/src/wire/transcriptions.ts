import * as z from "zod";
import { isFile } from "./file.ts";

/** The form of POST /audio/transcriptions: only the fields that are sent on. All but the file are texts. */
export const transcriptionRequest = z.strictObject({
  file: z.custom<{ bytes: Uint8Array }>(isFile, { message: "must be a file" }).meta({
    type: "string",
    format: "binary",
    description: "WAV, MP3 or Ogg Opus. The length is read from the samples, frames or packets.",
  }),
  model: z.string().min(1),
  response_format: z
    .enum(["json", "text", "verbose_json"])
    .optional()
    .describe("The format of the answer, `json` if absent. The provider may have no `verbose_json`."),
  language: z
    .string()
    .regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})?$/, "expected a code like en or en-US")
    .optional()
    .describe("The language of the audio, such as `en`."),
  timestamps: z
    .enum(["true", "false"])
    .optional()
    .describe("Adds the times of words or segments, if the model has any."),
});
