import { fail } from "@inference/protocol/errors";
import type { Model } from "@inference/protocol/model";
import type { JsonObject } from "../../json-object.ts";

/** The limit if the catalogue lists none. No model writes more. */
const MOST_TOKENS = 1_000_000;

/** The output limit to send, and the model's own. */
export type OutputLimit = { maxTokens: number; modelMaxTokens: number };

/**
 * The output limit to send, and the model's own. The field has two names. Both may be sent if they agree; none means
 * the model's maximum. Values below 1 are refused, because providers read them as "no limit".
 */
export function readMaxTokens(fields: JsonObject, model: Model): OutputLimit {
  const modelMax = modelMaxTokens(model);
  const first = readField("max_completion_tokens", fields.max_completion_tokens, model.id, modelMax);
  const second = readField("max_tokens", fields.max_tokens, model.id, modelMax);
  if (first !== undefined && second !== undefined && first !== second) {
    fail("invalid_request", "`max_tokens` and `max_completion_tokens` differ. Send one of them.", {
      param: "max_tokens",
    });
  }
  const maxTokens = first ?? second ?? modelMax;
  if (maxTokens === null) {
    const message = `\`${model.id}\` has no listed maximum: say how long the answer may be with \`max_completion_tokens\`.`;
    fail("invalid_request", message, { param: "max_completion_tokens" });
  }
  return { maxTokens, modelMaxTokens: modelMax ?? maxTokens };
}

function readField(param: string, value: unknown, id: string, modelMax: number | null): number | undefined {
  if (value === undefined) return undefined;
  const most = modelMax ?? MOST_TOKENS;
  if (typeof value !== "number" || value < 1 || !(Number.isInteger(value) || value === Number.POSITIVE_INFINITY)) {
    const message = `\`${param}\` must be a whole number from 1 to ${most}. Leave it out for the model's maximum.`;
    fail("invalid_request", message, { param, metadata: { max_tokens: most } });
  }
  if (value > most) {
    const message = `\`${param}\` is above the maximum of \`${id}\`, ${most}. Send at most ${most}, or leave it out.`;
    fail("invalid_request", message, { param, metadata: { max_tokens: most } });
  }
  return value;
}

/** The smaller of the model's maximum and its context, as far as they are known. */
export function modelMaxTokens({ maxOutputTokens, contextTokens }: Model): number | null {
  if (maxOutputTokens === null) return contextTokens;
  return contextTokens === null ? maxOutputTokens : Math.min(maxOutputTokens, contextTokens);
}
