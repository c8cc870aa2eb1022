import type { FieldRefusal } from "../../http/json/validate.ts";
import { type FieldRule, unpriced } from "./sort-fields.ts";

/** Fields of the Messages API that have a price. Others that are not used are dropped and named. */
export const messagesRules: ReadonlyMap<string, FieldRule> = new Map([
  [
    "mcp_servers",
    unpriced("Run the tools yourself and send them in `tools`.", (value) => Array.isArray(value) && value.length === 0),
  ],
  [
    "service_tier",
    unpriced(
      "Send `auto` or `standard_only`, or leave it out.",
      (value) => value === "auto" || value === "standard_only",
    ),
  ],
]);

export const messagesRefusals: readonly FieldRefusal[] = [
  {
    at: /^tools\[\d+\]\.input_schema$/,
    code: "unpriced_option",
    advice: "a tool needs an `input_schema`. Tools that the provider runs have a price that is not modelled.",
  },
  {
    at: /\.source(\.type)?$/,
    code: "unsupported_parameter",
    advice: "images can be `base64` or `url`, and documents `text`. Send other files as text.",
  },
  {
    at: /^messages\[\d+\]\.content\[\d+\](\.content\[\d+\])?\.type$/,
    code: "unsupported_parameter",
    advice: "blocks can be `text`, `image`, `document` with text, `tool_use`, `tool_result` and `thinking`.",
  },
];
