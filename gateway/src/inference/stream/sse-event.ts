import { asObject, type JsonObject, parseJson } from "../../json-object.ts";
import { type Choice, readChoice, withoutUsage } from "./choice-content.ts";

/** An event of the provider's stream, parsed. */
type SseEvent =
  /** No data: a comment, an id, a retry time. */
  | { kind: "other" }
  /** Empty data, which clients fail to parse. */
  | { kind: "empty" }
  | { kind: "done" }
  | { kind: "error"; error: unknown }
  /** Data that is not a JSON object. */
  | { kind: "malformed" }
  /** An object without choices and usage, which is not part of an answer. */
  | { kind: "foreign" }
  /** No choices, and a usage. */
  | { kind: "usage"; chunk: JsonObject }
  | SseContentEvent;

/** It may have a usage as well. */
export type SseContentEvent = {
  kind: "content";
  chunk: JsonObject;
  choices: readonly Choice[];
};

/** The members of a chat answer, and of a chunk of one, that a client sees beside the usage. */
export const SHOWN_MEMBERS: ReadonlySet<string> = new Set([
  "id",
  "object",
  "created",
  "model",
  "choices",
  "system_fingerprint",
  "service_tier",
]);

/** @param segment The event's lines. */
export function readSseEvent(segment: string): SseEvent {
  const { name, data } = readFields(segment);
  if (data === undefined) return { kind: "other" };
  const text = data.trim();
  if (text === "") return { kind: "empty" };
  if (text === "[DONE]") return { kind: "done" };
  const chunk = asObject(parseJson(text));
  if (chunk === undefined) return name === "error" ? { kind: "error", error: text } : { kind: "malformed" };
  if (name === "error" || (chunk.error ?? null) !== null || chunk.object === "error" || chunk.type === "error") {
    return { kind: "error", error: chunk.error ?? chunk };
  }
  const choices: unknown[] = Array.isArray(chunk.choices) ? chunk.choices : [];
  if (choices.length === 0 && (chunk.usage ?? null) !== null) return { kind: "usage", chunk };
  if (!Array.isArray(chunk.choices)) return { kind: "foreign" };
  return { kind: "content", chunk, choices: choices.map(readChoice) };
}

/** The rules of event streams: a space after the colon is dropped, and lines of data are joined. */
function readFields(text: string): { name: string | undefined; data: string | undefined } {
  const line = text.trimEnd();
  // Almost every event is one line of data.
  if (line.startsWith("data:") && !line.includes("\n") && !line.includes("\r")) {
    return { name: undefined, data: line.slice("data:".length) };
  }
  let name: string | undefined;
  let data: string | undefined;
  for (const line of text.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") data = data === undefined ? value : `${data}\n${value}`;
    else if (field === "event") name = value;
  }
  return { name, data };
}

/** The data that a client of chat gets of a content event; null if it gets all, unchanged. */
export function shownData({ chunk }: SseContentEvent): string | null {
  const choices: unknown[] = Array.isArray(chunk.choices) ? chunk.choices : [];
  // A usage or an error may be null.
  const isNull = (name: string): boolean => (name === "usage" || name === "error") && chunk[name] === null;
  const isShown = (name: string): boolean => SHOWN_MEMBERS.has(name) || isNull(name);
  const shownChoices = choices.map(withoutUsage);
  const names = Object.keys(chunk);
  if (names.every(isShown) && shownChoices.every((choice, index) => choice === choices[index])) return null;
  const shown = Object.fromEntries(names.filter(isShown).map((name) => [name, chunk[name]]));
  shown.choices = shownChoices;
  return JSON.stringify(shown);
}
