import { asObject } from "../../json-object.ts";
import { CALL_HALF_TOKENS, halfTokens } from "../../pricing/token-estimate.ts";
import { deliveredInChoice } from "./choice-content.ts";

/**
 * The estimate, in half tokens, of what `deliveredInChoice` counts in a choice's `message` or `delta`. Texts are
 * estimated where models mostly write them; in every other place a byte is a token.
 *
 * @param bytes What `deliveredInChoice` counts.
 */
export function halfTokensInChoice(message: unknown, bytes = deliveredInChoice(message)): number {
  const fields = asObject(message);
  if (fields === undefined) return 0;
  const calls = (Array.isArray(fields.tool_calls) ? fields.tool_calls : []).map((call) =>
    asObject(asObject(call)?.function),
  );
  const names = calls.map((called) => measure(called?.name));
  const texts = [
    measure(fields.content),
    measure(fields.refusal),
    larger(measure(fields.reasoning_content), measure(fields.reasoning)),
    ...names,
    ...calls.map((called) => measure(called?.arguments)),
  ];
  const begun = names.filter(({ bytes }) => bytes > 0).length;
  const estimated = texts.reduce((sum, { halves }) => sum + halves, begun * CALL_HALF_TOKENS);
  const otherBytes = bytes - texts.reduce((sum, { bytes }) => sum + bytes, 0);
  return estimated + 2 * otherBytes;
}

type Measured = { bytes: number; halves: number };

function measure(text: unknown): Measured {
  return typeof text === "string"
    ? { bytes: Buffer.byteLength(text), halves: halfTokens(text) }
    : { bytes: 0, halves: 0 };
}

function larger(one: Measured, other: Measured): Measured {
  return { bytes: Math.max(one.bytes, other.bytes), halves: Math.max(one.halves, other.halves) };
}
