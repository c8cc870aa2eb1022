import { asObject, type JsonObject, parseJson } from "../../json-object.ts";
import { besideContent, readUsage, reportedCost, reportedOnce } from "../../pricing/usage.ts";
import type { Charged } from "./answer-writer.ts";
import { isFailedChoice, withoutUsage } from "./choice-content.ts";
import { measureElements } from "./json-elements.ts";
import { createJsonRelay, type JsonOptions, type JsonRelay } from "./json-relay.ts";
import type { WholeTap } from "./tap.ts";
import { textWithUsage, usageJson } from "./usage-json.ts";

/** A complete answer, and the body that the client gets. */
export type WholeAnswer = Pick<JsonRelay, "fault" | "reported" | "delivered" | "elements" | "upstreamId" | "model"> & {
  body(charged: Charged): string | Uint8Array;
};

const utf8 = new TextDecoder();

/** Reads a whole JSON answer. Its time and memory grow with it: a larger one passes through `createJsonRelay`. */
export function readJsonAnswer(bytes: Uint8Array, options: JsonOptions): WholeAnswer {
  const { bound, elements: kind } = options;
  const answer = asObject(parseJson(utf8.decode(bytes)));
  if (answer === undefined) return malformed(bytes, options);
  const content = answer[options.content];
  const list: readonly unknown[] = Array.isArray(content) && kind !== "text" ? content : textOf(kind, content);
  const measured = measureElements(kind, list);
  const usage = besideContent(reportedOnce(readUsage(answer, bound)), bound, () => measured.bytes > 0);
  const reported = { ...usage, ...reportedCost(answer) };
  const isFailure = kind === "choices" && measured.bytes === 0 && list.some(isFailedChoice);
  const { id, model } = answer;
  return {
    fault: () => ((answer.error ?? null) !== null || isFailure ? "error" : null),
    reported: () => reported,
    delivered: () => measured,
    elements: () => list.length,
    upstreamId: () => (typeof id === "string" ? id : null),
    model: () => (typeof model === "string" ? model : null),
    body(charged) {
      const text = shownText(answer, list, options);
      // It is nested too deeply to be written again.
      if (text === undefined) return readThrough(createJsonRelay(options), bytes).body(charged);
      const clean = options.secrets.remove(text);
      return options.shown.includes("usage") ? textWithUsage(clean, usageJson(charged)) : clean;
    },
  };
}

/** The content that is a text is the one element of a list. */
function textOf(kind: JsonOptions["elements"], content: unknown): readonly unknown[] {
  return kind === "text" && content !== undefined ? [content] : [];
}

/** The members that a client gets, but for the usage. */
function shownText(answer: JsonObject, list: readonly unknown[], options: JsonOptions): string | undefined {
  const { shown, content, elements } = options;
  const kept: JsonObject = {};
  for (const name of shown) if (name !== "usage" && Object.hasOwn(answer, name)) kept[name] = answer[name];
  if (elements === "choices" && list.length > 0) kept[content] = list.map(withoutUsage);
  try {
    return JSON.stringify(kept);
  } catch {
    return undefined;
  }
}

/** The bytes before the fault may contain a usage. */
function malformed(bytes: Uint8Array, options: JsonOptions): WholeAnswer {
  const relay = createJsonRelay(options);
  return { ...readThrough(relay, bytes), fault: () => relay.fault() ?? "malformed" };
}

/** Reads a whole answer by the tap for a large one. */
export function readThrough(tap: WholeTap, bytes: Uint8Array): WholeAnswer {
  const passed = tap.push(bytes);
  tap.end();
  return {
    elements: () => 0,
    ...tap,
    fault: () => tap.fault() ?? (tap.state() === "done" ? null : "malformed"),
    body(charged) {
      const last = tap.last(charged);
      return passed === undefined ? last : Buffer.concat([passed, last]);
    },
  };
}
