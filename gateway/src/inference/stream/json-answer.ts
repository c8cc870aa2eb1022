import type { NanoUsd } from "@inference/protocol/money";
import { asObject, parseJson } from "../../json-object.ts";
import { besideContent, parseUsage, reportedOnce } from "../../pricing/usage.ts";
import { withoutUsage } from "./choice-content.ts";
import { estimateElements, isFailure, measureElements } from "./json-elements.ts";
import type { JsonTap, JsonTapOptions } from "./json-tap.ts";
import { textWithUsage, usageJson } from "./usage-json.ts";

/** A parsed JSON answer, and the text that the client gets. */
export type JsonAnswer = Pick<JsonTap, "reported" | "delivered" | "elements" | "upstreamId" | "model"> & {
  text(chargeNanoUsd: NanoUsd): string;
};

const utf8 = new TextDecoder();

/**
 * Parses a small answer whole, by the rules of the tap (`json-tap.ts`), in a quarter of the tap's time. Undefined for
 * any answer that is not clearly valid: the tap then decides what it is.
 */
export function readJsonAnswer(bytes: Uint8Array, options: JsonTapOptions): JsonAnswer | undefined {
  const { shown, content, secrets, bound } = options;
  const answer = parseObject(bytes);
  const list = answer?.[content];
  if (answer === undefined || !Array.isArray(list) || (answer.error ?? null) !== null) return undefined;
  if (isFailure(options.elements, list)) return undefined;
  const hasContent = (): boolean => measureElements(options.elements, list).bytes > 0;
  const reported = besideContent(reportedOnce(parseUsage(answer.usage, bound)), bound, hasContent);
  const { usage } = reported;
  const kept: Record<string, unknown> = {};
  for (const name of shown) {
    const value = answer[name];
    if (name === "usage" || value === undefined) continue;
    // An object may be nested deeply.
    if (name !== content && typeof value === "object" && value !== null) return undefined;
    kept[name] = name === content && options.elements === "choices" ? list.map(withoutUsage) : value;
  }
  const { id, model } = answer;
  const showsUsage = typeof usage === "object" && shown.includes("usage");
  let text: string;
  try {
    text = JSON.stringify(kept);
  } catch {
    // It is nested too deeply.
    return undefined;
  }
  const clean = secrets.remove(text);
  if (clean !== text && asObject(parseJson(clean)) === undefined) return undefined;
  return {
    reported: () => reported,
    delivered() {
      const delivered = measureElements(options.elements, list);
      // A known usage is charged, so no estimate is needed.
      return typeof usage === "object"
        ? delivered
        : { ...delivered, halfTokens: estimateElements(options.elements, list) };
    },
    elements: () => list.length,
    upstreamId: () => (typeof id === "string" ? id : null),
    model: () => (typeof model === "string" ? model : null),
    text: (chargeNanoUsd) => (showsUsage ? textWithUsage(clean, usageJson(usage, chargeNanoUsd)) : clean),
  };
}

function parseObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  return asObject(parseJson(utf8.decode(bytes)));
}
