import type { FieldRefusal } from "../../http/json/validate.ts";
import { dropped, type FieldRule, oneOf, unpriced, unsupported } from "./sort-fields.ts";

const wholeHistory = "Nothing is stored here: send the whole conversation in `input`, and `store: false`.";

/** Fields of the Responses API that are not used. A field in no table is dropped and named, because none is sent on. */
export const responsesRules: ReadonlyMap<string, FieldRule> = new Map([
  ["store", unsupported(`${wholeHistory} Leave \`store\` out or send \`false\`.`, oneOf(false))],
  ["previous_response_id", unsupported(wholeHistory)],
  ["conversation", unsupported(wholeHistory)],
  ["prompt", unsupported("Nothing is stored here: send the text of the prompt in `instructions` and `input`.")],
  ["background", unsupported("Send `stream: true` for long answers.", oneOf(false))],
  ["truncation", unsupported("Shorten `input` yourself, and send `disabled`.", oneOf("disabled"))],
  ["max_tokens", unsupported("Send `max_output_tokens`.")],
  ["max_completion_tokens", unsupported("Send `max_output_tokens`.")],
  ["n", unsupported("There is one answer: leave it out.", oneOf(1))],
  ["response_format", unsupported("Send `text.format`.")],
  ["messages", unsupported("Send `input`.")],
  ["service_tier", unpriced("Send `auto` or `default`, or leave it out.", oneOf("auto", "default"))],
]);

/** Any field that is in no table. */
export const unknownField: FieldRule = dropped();

const text = "parts can be `input_text`, `output_text` and `refusal`, and in a user's message `input_image`.";

export const responsesRefusals: readonly FieldRefusal[] = [
  {
    at: /^input\[\d+\]\.(content|output)\[\d+\]\.type$/,
    code: "unsupported_parameter",
    advice: `${text} Send a file as text.`,
  },
  {
    at: /^input\[\d+\]\.type$/,
    code: "unsupported_parameter",
    advice:
      "items of this type are not served. For `item_reference`, send `store: false`: then clients send the items " +
      "themselves. For `compaction`, send the conversation.",
  },
];
