import { fail } from "@inference/protocol/errors";
import { chatRequest, veniceParameters } from "@inference/protocol/wire/chat";
import { type FieldRefusal, fieldValidator } from "../../http/json/validate.ts";
import { asObject, isJsonObject, type JsonObject } from "../../json-object.ts";
import { unknownMembers } from "./chat-messages.ts";
import { readMaxTokens, writeChatOrder } from "./chat-order.ts";
import { findModel, withFallbacks } from "./find-model.ts";
import type { ChatOrder, OrderContext } from "./order.ts";
import { isResponsesBody, parseResponsesAsChat } from "./responses.ts";
import { drop, dropped, type FieldRule, oneOf, sortFields, unpriced, unsupported } from "./sort-fields.ts";

const isEmpty = (value: unknown): boolean =>
  Array.isArray(value) ? value.length === 0 : isJsonObject(value) && Object.keys(value).length === 0;
const off = oneOf(false, "off");
const search = "Search the web yourself and put what you found into `messages`.";

/** Fields of Venice's, which may also be members of `venice_parameters`. */
const veniceOnly: readonly [string, FieldRule][] = [
  ["enable_web_search", unpriced(search, off)],
  ["enable_web_scraping", unpriced(search, off)],
  ["enable_x_search", unpriced(search, off)],
  ["character_slug", unpriced("Write the character into a system message.")],
];

/** Fields of other chat APIs, and whether they are dropped or refused. A field in no table is refused. */
export const chatRules: ReadonlyMap<string, FieldRule> = new Map([
  ...dropped(
    "user",
    "anon_user_id",
    "safety_identifier",
    "metadata",
    "chat_id",
    "session_id",
    "id",
    "prompt_cache_retention",
    "prompt_cache_options",
    "cache_control",
    "client_metadata",
    "trace",
    "include_reasoning",
  ),
  [
    "thinking",
    unsupported("Send `reasoning_effort`, for instance `none`.", (value) => asObject(value)?.type === "enabled"),
  ],
  ["store", unsupported("Nothing is stored: send `false` or leave it out.", oneOf(false))],
  ["service_tier", unpriced("Send `auto` or `default`, or leave it out.", oneOf("auto", "default"))],
  ["modalities", unsupported("Answers are text: leave it out.", (value) => JSON.stringify(value) === '["text"]')],
  ["logit_bias", unsupported("Leave it out.", isEmpty)],
  ["audio", unpriced("For speech, send the text to /v1/audio/speech.")],
  ["prediction", unpriced("Leave it out.")],
  ["web_search_options", unpriced(search)],
  ["web_search", unpriced(search, off)],
  ...veniceOnly,
  ["search_parameters", unpriced(search)],
  ["plugins", unpriced("Leave it out.", isEmpty)],
  ["functions", unsupported("Send `tools`.", isEmpty)],
  ["function_call", unsupported("Send `tool_choice`.")],
  ["best_of", unsupported("Send `n`.", oneOf(1))],
  ["input", unsupported("Send `messages`.")],
  ["prompt", unsupported("Send `messages`.")],
  ["max_output_tokens", unsupported("Send `max_completion_tokens`.")],
  ["fallbacks", unsupported("Send `models`.", isEmpty)],
  ["route", unsupported("Leave it out: `models` is enough.", oneOf("fallback"))],
  ["provider", unsupported("Leave it out.", isEmpty)],
  ["transforms", unsupported("Shorten `messages` yourself.", isEmpty)],
  ["echo", unsupported("Leave it out.", oneOf(false))],
  ["include", unsupported("Leave it out.", isEmpty)],
  ["background", unsupported("Send `stream: true` for long answers.", oneOf(false))],
]);

/** Members of `venice_parameters` that are not sent on. One in neither table is dropped, as the provider would drop it. */
const veniceRules: ReadonlyMap<string, FieldRule> = new Map([
  [
    "include_venice_system_prompt",
    unpriced("The provider's own prompt is switched off, because you would pay for it: send `false`.", oneOf(false)),
  ],
  ...veniceOnly,
  ["enable_e2ee", unsupported("The gateway reads answers to meter them: send `false` or leave it out.", oneOf(false))],
]);

export const chatRefusals: readonly FieldRefusal[] = [
  {
    at: /^tools\[\d+\]\.type$/,
    code: "unpriced_option",
    advice: "only tools of type `function` are served; tools that the provider runs have a price that is not modelled.",
  },
  {
    at: /\.cache_control\.ttl$/,
    code: "unpriced_option",
    advice: "a longer life in the cache has a price that is not modelled. Send `5m` or leave it out.",
  },
  {
    at: /^messages\[\d+\]\.content\[\d+\]\.type$/,
    code: "unsupported_parameter",
    advice:
      "parts can be `text`, and in a user's message `image_url`, `input_audio` or `video_url`. Send a file as text.",
  },
  {
    at: /^messages\[\d+\]\.function_call(\.|$)/,
    code: "unsupported_parameter",
    advice: "send `tool_calls`.",
  },
];

const validate = fieldValidator(chatRequest, chatRefusals);

/** POST /chat/completions. */
export const parseChatOrder = withFallbacks(parseChat);

function parseChat(body: JsonObject, context: OrderContext): ChatOrder {
  if (isResponsesBody(body)) return parseResponsesAsChat(body, context);
  const { known, ignored } = sortFields(body, chatRequest.shape, chatRules);
  ignored.push(...sortVeniceParameters(known, context));
  const model = findModel(known.model, "text", context);
  const limit = readMaxTokens(known, model);
  const request = validate(known);
  ignored.push(...unknownMembers(known.messages, request.messages));
  if (request.stream !== true && request.stream_options !== undefined) ignored.push("stream_options");
  return writeChatOrder(request, { model, limit, ignored }, context);
}

/**
 * Leaves the members of `venice_parameters` that change the answer and not the price. All of it is dropped if the
 * operator's own fields do not have it, because other providers refuse a field that they do not know.
 *
 * @returns The names of what was dropped.
 */
function sortVeniceParameters(known: JsonObject, { chatExtras }: OrderContext): string[] {
  const given = known.venice_parameters;
  if (given === undefined) return [];
  const param = "venice_parameters";
  if (!isJsonObject(given)) fail("invalid_request", `\`${param}\` must be an object.`, { param });
  const sorted = sortFields(given, veniceParameters.shape, veniceRules, drop, `${param}.`);
  if (Object.hasOwn(chatExtras, param)) {
    known.venice_parameters = sorted.known;
    return sorted.ignored;
  }
  delete known.venice_parameters;
  return [param];
}
