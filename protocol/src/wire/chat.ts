import * as z from "zod";
import { models } from "./fields.ts";
import { jsonObject, list, type Shape } from "./json.ts";

/**
 * The body of POST /chat/completions: only the fields that are sent on to the provider. The endpoint first handles
 * fields that are dropped, or refused with their own reason. At the top level null counts as absent.
 */
export const MAX_MESSAGES = 2048;
/** Each choice is billed. The limit keeps the maximum cost of a request near its likely cost. */
export const MAX_CHOICES = 8;
export const MAX_TOOLS = 128;
const MAX_STOPS = 4;
const MAX_STOP_TOKENS = 64;
const MAX_PARTS = 2048;
/** The reasoning or citations of one message that is sent back. */
const MAX_DETAILS = 1024;

/** A longer lifetime of a cache write costs more than the catalogue says, so only the default is accepted. */
const cacheControl = z.strictObject({ type: z.literal("ephemeral"), ttl: z.literal("5m").optional() }).optional();

const textPart = z.strictObject({ type: z.literal("text"), text: z.string(), cache_control: cacheControl });
const imagePart = z.strictObject({
  type: z.literal("image_url"),
  image_url: z.strictObject({
    url: z.string().regex(/^(https?:\/\/|data:image\/)/, "expected an http(s) or data:image URL"),
    detail: z.enum(["auto", "low", "high"]).optional(),
  }),
  cache_control: cacheControl,
});
const audioPart = z.strictObject({
  type: z.literal("input_audio"),
  input_audio: z.strictObject({ data: z.string().min(1), format: z.string().min(1).max(16) }),
  cache_control: cacheControl,
});
const videoPart = z.strictObject({
  type: z.literal("video_url"),
  video_url: z.strictObject({
    url: z.string().regex(/^(https?:\/\/|data:video\/)/, "expected an http(s) or data:video URL"),
  }),
  cache_control: cacheControl,
});

const name = z.string().min(1).max(256).optional();
const text = z.union([z.string(), list(textPart, MAX_PARTS).min(1)]);
const parts = z.discriminatedUnion("type", [textPart, imagePart, audioPart, videoPart]);

/** A provider may want it back, for instance Gemini its signatures of thoughts. */
const extraContent = jsonObject.nullish();
const toolCall = z.object({
  id: z.string(),
  type: z.literal("function"),
  function: z.object({ name: z.string().min(1), arguments: z.string() }),
  index: z.int().optional(),
  extra_content: extraContent,
});

/** Some clients set it on the message, where it has no effect. The endpoint drops it. */
const messageCacheControl = z.unknown().optional();

/**
 * Clients send an answer back unchanged. Fields that only answers have are accepted here, and dropped by the endpoint.
 * So are members of messages that are not here, because clients keep data of their own in them.
 */
const assistant = z.object({
  role: z.literal("assistant"),
  content: text.nullish(),
  name: name.nullable(),
  tool_calls: list(toolCall, MAX_TOOLS).nullish(),
  refusal: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  reasoning_details: list(jsonObject, MAX_DETAILS).nullish(),
  extra_content: extraContent,
  reasoning: z.string().nullish(),
  annotations: list(z.unknown(), MAX_DETAILS).nullish(),
  audio: z.null().optional(),
  function_call: z.null().optional(),
  cache_control: messageCacheControl,
});

const others = { name, cache_control: messageCacheControl };
const message = z.discriminatedUnion("role", [
  z.object({ role: z.literal("system"), content: text, ...others }),
  z.object({ role: z.literal("developer"), content: text, ...others }),
  z.object({ role: z.literal("user"), content: z.union([z.string(), list(parts, MAX_PARTS).min(1)]), ...others }),
  assistant,
  z.object({ role: z.literal("tool"), content: text, tool_call_id: z.string().min(1), ...others }),
]);

const functionName = z.strictObject({ name: z.string().min(1).max(256) });
const tool = z.strictObject({
  type: z.literal("function"),
  function: functionName.extend({
    description: z.string().optional(),
    parameters: jsonObject.optional(),
    strict: z.boolean().nullish(),
  }),
  cache_control: cacheControl,
});

const effort = z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);

/** The members that change the answer and not the price. The endpoint handles the others. */
export const veniceParameters = z.strictObject({
  strip_thinking_response: z.boolean().optional(),
  disable_thinking: z.boolean().optional(),
} satisfies Shape);

const chatShape = {
  model: z.string().min(1),
  models,
  messages: list(message, MAX_MESSAGES).min(1),
  /** At least 1, at most the model's maximum; the newer name of `max_tokens`. */
  max_completion_tokens: z.int().min(1).optional(),
  max_tokens: z.int().min(1).optional(),
  n: z.int().min(1).max(MAX_CHOICES).optional(),
  stream: z.boolean().optional(),
  stream_options: z
    .strictObject({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
    .optional(),
  /** Another way to ask for the usage of a stream: `{"include": true}`. */
  usage: z.strictObject({ include: z.boolean().optional() }).optional(),
  temperature: z.number().min(0).max(2).optional(),
  min_temp: z.number().min(0).max(2).optional(),
  max_temp: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  top_k: z.int().min(0).optional(),
  min_p: z.number().min(0).max(1).optional(),
  frequency_penalty: z.number().min(-2).max(2).optional(),
  presence_penalty: z.number().min(-2).max(2).optional(),
  repetition_penalty: z.number().min(0).max(2).optional(),
  seed: z.int().optional(),
  stop: z.union([z.string(), list(z.string(), MAX_STOPS).min(1)]).optional(),
  stop_token_ids: list(z.int().min(0), MAX_STOP_TOKENS).optional(),
  response_format: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("text") }),
      z.strictObject({ type: z.literal("json_object") }),
      z.strictObject({
        type: z.literal("json_schema"),
        json_schema: functionName.extend({
          description: z.string().optional(),
          schema: jsonObject.optional(),
          strict: z.boolean().nullish(),
        }),
      }),
    ])
    .optional(),
  tools: list(tool, MAX_TOOLS).optional(),
  tool_choice: z
    .union([
      z.enum(["none", "auto", "required"]),
      z.strictObject({ type: z.literal("function"), function: functionName }),
    ])
    .optional(),
  parallel_tool_calls: z.boolean().optional(),
  logprobs: z.boolean().optional(),
  top_logprobs: z.int().min(0).max(20).optional(),
  reasoning: z
    .strictObject({
      effort: effort.optional(),
      enabled: z.boolean().optional(),
      summary: z.enum(["auto", "concise", "detailed"]).optional(),
    })
    .optional(),
  reasoning_effort: effort.optional(),
  verbosity: z.enum(["low", "medium", "high"]).optional(),
  prompt_cache_key: z.string().max(256).optional(),
  /** Sent on to a provider that has it, else dropped. */
  venice_parameters: veniceParameters.optional(),
} satisfies Shape;

export const chatRequest = z.strictObject(chatShape);
export type ChatRequest = z.infer<typeof chatRequest>;
export type ChatMessage = ChatRequest["messages"][number];
