import * as z from "zod";

/** The body of POST /audio/speech: only the fields that are sent on to the provider. */
export const MAX_SPEECH_CHARACTERS = 4096;
export const MAX_SPEECH_PROMPT_CHARACTERS = 500;

export const speechRequest = z.strictObject({
  model: z.string().min(1),
  input: z.string().min(1).max(MAX_SPEECH_CHARACTERS),
  voice: z.string().min(1).max(256).optional(),
  response_format: z.enum(["mp3", "opus", "aac", "flac", "wav", "pcm"]).optional(),
  speed: z.number().min(0.25).max(4).optional(),
  /** Send the audio in chunks while it is made. */
  streaming: z.boolean().optional(),
  /** How to speak, for models that support it. Not spoken, and not part of the price. */
  prompt: z.string().max(MAX_SPEECH_PROMPT_CHARACTERS).optional(),
  language: z.string().min(1).max(64).optional(),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
});
