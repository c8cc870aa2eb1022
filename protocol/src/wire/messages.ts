import * as z from "zod";
import { errorAnswer } from "./answers.ts";
import { estimated, models } from "./fields.ts";
import { jsonObject, list, type Shape } from "./json.ts";

/**
 * The body of POST /messages: the fields that are used. Any other field is dropped and named in `x-ignored-parameters`,
 * because clients of this API send new ones with each release. Unknown members of a block are ignored. Null counts as
 * absent.
 */
const MAX_MESSAGES = 4096;
const MAX_BLOCKS = 2048;
export const MAX_MESSAGES_TOOLS = 512;

const cacheControl = z.object({ type: z.string().max(64) }).nullish();
const textBlock = z.object({ type: z.literal("text"), text: z.string(), cache_control: cacheControl });
const imageBlock = z.object({
  type: z.literal("image"),
  source: z.discriminatedUnion("type", [
    z.object({ type: z.literal("base64"), media_type: z.string().regex(/^image\/[a-z]{1,16}$/), data: z.string() }),
    z.object({ type: z.literal("url"), url: z.string().regex(/^https?:\/\//, "expected an http(s) URL") }),
  ]),
  cache_control: cacheControl,
});
const documentBlock = z.object({
  type: z.literal("document"),
  source: z.object({ type: z.literal("text"), data: z.string() }),
  title: z.string().nullish(),
  cache_control: cacheControl,
});
const block = z.discriminatedUnion("type", [
  textBlock,
  imageBlock,
  documentBlock,
  z.object({ type: z.literal("tool_use"), id: z.string().min(1), name: z.string().min(1).max(256), input: jsonObject }),
  z.object({
    type: z.literal("tool_result"),
    tool_use_id: z.string().min(1),
    content: z
      .union([z.string(), list(z.discriminatedUnion("type", [textBlock, imageBlock, documentBlock]), MAX_BLOCKS)])
      .nullish(),
    is_error: z.boolean().nullish(),
    cache_control: cacheControl,
  }),
  z.object({ type: z.literal("thinking"), thinking: z.string(), signature: z.string().nullish() }),
  z.object({ type: z.literal("redacted_thinking"), data: z.string().nullish() }),
]);
export type MessagesBlock = z.infer<typeof block>;

const text = z.union([z.string(), list(textBlock, MAX_BLOCKS)]);
const message = z.object({
  /** Claude Code also sends `system` here. */
  role: z.enum(["user", "assistant", "system"]),
  content: z.union([z.string(), list(block, MAX_BLOCKS)]),
});
export type MessagesMessage = z.infer<typeof message>;

const tool = z.object({
  type: z.string().max(64).nullish(),
  name: z.string().min(1).max(256),
  description: z.string().nullish(),
  /** A tool without it is one that the provider runs. It is refused. */
  input_schema: jsonObject,
  cache_control: cacheControl,
});

const countShape = {
  model: z.string().min(1),
  messages: list(message, MAX_MESSAGES).min(1),
  system: text.optional(),
  tools: list(tool, MAX_MESSAGES_TOOLS).optional(),
  tool_choice: z
    .object({
      type: z.enum(["auto", "any", "tool", "none"]),
      name: z.string().min(1).max(256).nullish(),
      disable_parallel_tool_use: z.boolean().nullish(),
    })
    .optional(),
  thinking: z
    .object({ type: z.enum(["enabled", "disabled", "adaptive"]), budget_tokens: z.int().min(1).nullish() })
    .optional(),
  output_config: z
    .object({
      effort: z.enum(["low", "medium", "high", "xhigh", "max"]).nullish(),
      format: z.object({ type: z.literal("json_schema"), schema: jsonObject }).nullish(),
    })
    .optional(),
} satisfies Shape;

export const countTokensRequest = z.strictObject(countShape);
export const messagesRequest = z.strictObject({
  ...countShape,
  models,
  /** At most the model's maximum is used. */
  max_tokens: z.int().min(1),
  stream: z.boolean().optional(),
  stop_sequences: list(z.string(), 64).optional(),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  top_k: z.int().min(0).optional(),
});
export type MessagesRequest = z.infer<typeof messagesRequest>;
export type CountTokensRequest = z.infer<typeof countTokensRequest>;

const count = z.int().min(0);

export const messagesAnswer = z.looseObject({
  id: z.string(),
  type: z.literal("message"),
  role: z.literal("assistant"),
  model: z.string(),
  content: z.array(z.looseObject({ type: z.string() })).describe("Blocks: `thinking`, `text`, `tool_use`."),
  stop_reason: z.enum(["end_turn", "tool_use", "max_tokens", "refusal"]),
  stop_sequence: z.null(),
  usage: z.strictObject({
    input_tokens: count.describe("Without the two counts of the cache."),
    cache_creation_input_tokens: count,
    cache_read_input_tokens: count,
    output_tokens: count,
    cost: z.number().min(0).describe("US dollars."),
    cost_nano_usd: count,
    estimated,
  }),
});

export const messagesEvent = z
  .looseObject({ type: z.string() })
  .describe("The events of the Messages API. The last is `message_stop`, or `error`.");

export const countTokensAnswer = z.strictObject({ input_tokens: count.describe("An estimate.") });

export const messagesErrorAnswer = z.strictObject({
  type: z.literal("error"),
  error: errorAnswer.shape.error.describe("`type` is that of the Messages API; `code` is ours."),
  request_id: z.string(),
});
