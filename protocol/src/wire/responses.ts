import * as z from "zod";
import { estimated, models } from "./fields.ts";
import { jsonObject, list, type Shape } from "./json.ts";

/**
 * The body of POST /responses: the fields that are used. Fields that are not here are dropped and named in
 * `x-ignored-parameters`, or refused with their own reason. Unknown members of an item are ignored. Null counts as
 * absent.
 */
const MAX_ITEMS = 4096;
const MAX_PARTS = 2048;
/** All tools together, including those in namespaces. */
export const MAX_RESPONSES_TOOLS = 512;

const part = z.discriminatedUnion("type", [
  z.object({ type: z.enum(["input_text", "output_text", "text"]), text: z.string() }),
  z.object({ type: z.literal("refusal"), refusal: z.string() }),
  z.object({
    type: z.literal("input_image"),
    image_url: z.string().regex(/^(https?:\/\/|data:image\/)/, "expected an http(s) or data:image URL"),
    detail: z.enum(["auto", "low", "high", "original"]).nullish(),
  }),
  z.object({
    type: z.literal("input_audio"),
    input_audio: z.object({ data: z.string().min(1), format: z.string().min(1).max(16) }),
  }),
]);
export type ResponsesPart = z.infer<typeof part>;
const content = z.union([z.string(), list(part, MAX_PARTS)]);

const name = z.string().min(1).max(256);
const callId = z.string().min(1);
const functionTool = z.object({
  type: z.literal("function"),
  name,
  description: z.string().nullish(),
  parameters: jsonObject.nullish(),
  strict: z.boolean().nullish(),
});
const customTool = z.object({
  type: z.literal("custom"),
  name,
  description: z.string().nullish(),
  format: jsonObject.nullish(),
});
/** A tool that the provider would run. It is dropped and named. */
const otherTool = z.object({
  type: z.string().refine((type) => !servedTools.has(type), { abort: true, error: "it has other fields" }),
});
const servedTools: ReadonlySet<string> = new Set(["function", "custom", "namespace", "tool_search"]);
const tool = z.union([
  functionTool,
  customTool,
  z.object({
    type: z.literal("namespace"),
    name,
    tools: list(z.union([functionTool, customTool, otherTool]), MAX_RESPONSES_TOOLS),
  }),
  z.object({
    type: z.literal("tool_search"),
    description: z.string().nullish(),
    parameters: jsonObject.nullish(),
  }),
  otherTool,
]);
export type ResponsesTool = z.infer<typeof tool>;
const tools = list(tool, MAX_RESPONSES_TOOLS);

const item = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("message"),
    role: z.enum(["user", "assistant", "system", "developer"]),
    content,
  }),
  z.object({
    type: z.literal("function_call"),
    call_id: callId,
    name,
    namespace: name.nullish(),
    arguments: z.string(),
  }),
  z.object({ type: z.literal("function_call_output"), call_id: callId, output: content }),
  z.object({
    type: z.literal("custom_tool_call"),
    call_id: callId,
    name,
    namespace: name.nullish(),
    input: z.string(),
  }),
  z.object({ type: z.literal("custom_tool_call_output"), call_id: callId, output: content }),
  z.object({ type: z.literal("local_shell_call"), call_id: callId, action: jsonObject }),
  z.object({ type: z.literal("local_shell_call_output"), call_id: callId, output: content }),
  z.object({ type: z.literal("tool_search_call"), call_id: callId.nullish(), arguments: z.unknown() }),
  z.object({ type: z.literal("tool_search_output"), call_id: callId.nullish(), tools: tools.nullish() }),
  z.object({ type: z.literal("reasoning"), encrypted_content: z.string().nullish() }),
  z.object({ type: z.literal("additional_tools"), tools }),
  /** The provider's own tool calls in an earlier turn. It is dropped. */
  z.object({ type: z.enum(["web_search_call", "file_search_call", "image_generation_call", "code_interpreter_call"]) }),
]);
export type ResponsesItem = z.infer<typeof item>;

const effort = z.enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);
const named = z.object({ type: z.string().max(64), name: name.nullish(), namespace: name.nullish() });

const responsesShape = {
  model: z.string().min(1),
  models,
  input: z.union([z.string(), list(item, MAX_ITEMS).min(1)]),
  instructions: z.string().optional(),
  /** Without it: the least of the model's maximum, the operator's default and what is affordable. */
  max_output_tokens: z.int().min(1).optional(),
  stream: z.boolean().optional(),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  tools: tools.optional(),
  tool_choice: z
    .union([
      z.enum(["none", "auto", "required"]),
      z.object({
        type: z.literal("allowed_tools"),
        mode: z.enum(["auto", "required"]).optional(),
        tools: list(named, MAX_RESPONSES_TOOLS),
      }),
      named,
    ])
    .optional(),
  parallel_tool_calls: z.boolean().optional(),
  reasoning: z.object({ effort: effort.nullish() }).optional(),
  text: z
    .object({
      format: z
        .discriminatedUnion("type", [
          z.object({ type: z.literal("text") }),
          z.object({ type: z.literal("json_object") }),
          z.object({
            type: z.literal("json_schema"),
            name,
            description: z.string().nullish(),
            schema: jsonObject.nullish(),
            strict: z.boolean().nullish(),
          }),
        ])
        .nullish(),
      verbosity: z.enum(["low", "medium", "high"]).nullish(),
    })
    .optional(),
  prompt_cache_key: z.string().max(256).optional(),
} satisfies Shape;

export const responsesRequest = z.strictObject(responsesShape);
export type ResponsesRequest = z.infer<typeof responsesRequest>;

const count = z.int().min(0);

const responsesUsage = z.strictObject({
  input_tokens: count,
  input_tokens_details: z.strictObject({ cached_tokens: count, cache_write_tokens: count }),
  output_tokens: count,
  output_tokens_details: z.strictObject({ reasoning_tokens: count }),
  total_tokens: count,
  cost: z.number().min(0).describe("US dollars."),
  cost_nano_usd: count,
  estimated,
});

export const responsesAnswer = z.looseObject({
  id: z.string(),
  object: z.literal("response"),
  created_at: z.int(),
  status: z.enum(["completed", "incomplete"]),
  incomplete_details: z.strictObject({ reason: z.enum(["max_output_tokens", "content_filter"]) }).nullable(),
  model: z.string(),
  max_output_tokens: z.int().describe("The limit that was in force."),
  output: z
    .array(z.looseObject({ type: z.string(), id: z.string() }))
    .describe("Items: `reasoning`, `message`, `function_call`, `custom_tool_call`, `tool_search_call`."),
  store: z.literal(false),
  usage: responsesUsage,
});

export const responsesEvent = z
  .looseObject({ type: z.string(), sequence_number: count })
  .describe(
    "The events of the Responses API. The last is `response.completed`, `response.incomplete` or `response.failed`.",
  );
