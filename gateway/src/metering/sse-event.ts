import { utf8Length } from "./utf8-length.ts";

type JsonObject = Record<string, unknown>;

/** What an event of the provider's stream is, read in full. */
export type SseEvent =
  /** No data: a comment, an id, a retry time. */
  | { kind: "other" }
  /** Data without anything in it, which clients fail to parse. */
  | { kind: "empty" }
  | { kind: "done" }
  | { kind: "error"; error: unknown }
  /** Data that is no JSON object. */
  | { kind: "malformed" }
  /** No choices, and a usage. */
  | { kind: "usage"; chunk: JsonObject }
  | SseContentEvent;

/** Anything else; some providers put a usage into their content chunks. */
export type SseContentEvent = {
  kind: "content";
  /** The UTF-8 bytes that it delivers. */
  bytes: number;
  upstreamId: string | null;
  finishReason: string | null;
  usage: unknown;
};

const LF = 10;
const CR = 13;
const SPACE = 32;
const OPEN_OBJECT = 123;
const DATA = new TextEncoder().encode("data:");

/** Where the JSON of an event begins that has its data first and an object in it; -1 for every other event. */
export function payloadStart(bytes: Uint8Array, start: number): number {
  for (let index = 0; index < DATA.length; index++) if (bytes[start + index] !== DATA[index]) return -1;
  const at = start + DATA.length;
  if (bytes[at] === OPEN_OBJECT) return at;
  return bytes[at] === SPACE && bytes[at + 1] === OPEN_OBJECT ? at + 1 : -1;
}

/** The place before the line ends at an event's end. */
export function payloadEnd(bytes: Uint8Array, end: number): number {
  let at = end;
  while (at > 0 && (bytes[at - 1] === LF || bytes[at - 1] === CR)) at--;
  return at;
}

const decoder = new TextDecoder();

export function readSseEvent(bytes: Uint8Array): SseEvent {
  const { name, data } = readFields(decoder.decode(bytes));
  if (data === undefined) return { kind: "other" };
  const text = data.trim();
  if (text === "") return { kind: "empty" };
  if (text === "[DONE]") return { kind: "done" };
  const chunk = parse(text);
  if (chunk === undefined) return name === "error" ? { kind: "error", error: text } : { kind: "malformed" };
  if (name === "error" || (chunk.error ?? null) !== null || chunk.object === "error" || chunk.type === "error") {
    return { kind: "error", error: chunk.error ?? chunk };
  }
  const choices: unknown[] = Array.isArray(chunk.choices) ? chunk.choices : [];
  if (choices.length === 0 && (chunk.usage ?? null) !== null) return { kind: "usage", chunk };
  return {
    kind: "content",
    bytes: choices.reduce<number>((sum, choice) => sum + choiceBytes(choice), 0),
    upstreamId: typeof chunk.id === "string" ? chunk.id : null,
    finishReason: choices.reduce<string | null>((last, choice) => finishReason(choice) ?? last, null),
    usage: chunk.usage,
  };
}

/** By the rules of event streams: one space after the colon is dropped, lines of data are joined. */
function readFields(text: string): { name: string | undefined; data: string | undefined } {
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

function parse(text: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function choiceBytes(choice: unknown): number {
  const delta = asObject(asObject(choice)?.delta);
  if (delta === undefined) return 0;
  const toolCalls: unknown[] = Array.isArray(delta.tool_calls) ? delta.tool_calls : [];
  const functions = [...toolCalls.map((call) => asObject(call)?.function), delta.function_call].map(asObject);
  return (
    contentBytes(delta.content) +
    contentBytes(delta.refusal) +
    // Some providers send one text under several names.
    Math.max(
      contentBytes(delta.reasoning_content),
      contentBytes(delta.reasoning),
      contentBytes(delta.reasoning_details),
    ) +
    functions.reduce((sum, called) => sum + contentBytes(called?.name) + contentBytes(called?.arguments), 0)
  );
}

/** A text, or a list of parts with texts. */
function contentBytes(content: unknown): number {
  if (typeof content === "string") return utf8Length(content);
  if (!Array.isArray(content)) return 0;
  return content.reduce<number>((sum, part) => {
    const { text, summary } = asObject(part) ?? {};
    return (
      sum + (typeof text === "string" ? utf8Length(text) : 0) + (typeof summary === "string" ? utf8Length(summary) : 0)
    );
  }, 0);
}

function finishReason(choice: unknown): string | null {
  const reason = asObject(choice)?.finish_reason;
  return typeof reason === "string" ? reason : null;
}

function asObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}
