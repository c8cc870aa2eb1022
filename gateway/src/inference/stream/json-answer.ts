import type { NanoUsd } from "@inference/protocol/money";
import { asObject, parseJson } from "../../json-object.ts";
import { besideContent, parseUsage, reportedOnce } from "../../pricing/usage.ts";
import { withoutUsage } from "./choice-content.ts";
import { estimateElements, isFailure, measureElements } from "./json-elements.ts";
import type { JsonTap, JsonTapOptions } from "./json-tap.ts";
import { textWithUsage, usageJson } from "./usage-json.ts";

/** A whole JSON answer that was read, and what the client gets of it. */
export type JsonAnswer = Pick<JsonTap, "reported" | "delivered" | "elements" | "upstreamId" | "model"> & {
  text(chargeNanoUsd: NanoUsd): string;
};

const utf8 = new TextDecoder();

/**
 * Reads a small answer at once, by the rules of the tap (`json-tap.ts`): a quarter of its time for an ordinary answer.
 * Undefined for whatever is not plainly good: the tap finds out what that is.
 */
export function readJsonAnswer(bytes: Uint8Array, options: JsonTapOptions): JsonAnswer | undefined {
  const { shown, content, secrets, bound } = options;
  const answer = parseObject(bytes);
  const list = answer?.[content];
  if (answer === undefined || !Array.isArray(list) || (answer.error ?? null) !== null) return undefined;
  // What it says then, the tap tells.
  if (isFailure(options.elements, list)) return undefined;
  const hasContent = (): boolean => measureElements(options.elements, list).bytes > 0;
  const reported = besideContent(reportedOnce(parseUsage(answer.usage, bound)), bound, hasContent);
  const { usage } = reported;
  const kept: Record<string, unknown> = {};
  for (const name of shown) {
    if (name === "usage" || !(name in answer)) continue;
    const value = answer[name];
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
    // Nested more deeply than can be written.
    return undefined;
  }
  const clean = secrets.remove(text);
  if (clean !== text && asObject(parseJson(clean)) === undefined) return undefined;
  return {
    reported: () => reported,
    delivered() {
      const delivered = measureElements(options.elements, list);
      // A known usage is charged, and nobody asks for an estimate.
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
