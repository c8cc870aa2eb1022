import { asObject, type JsonObject } from "../../json-object.ts";

/**
 * The UTF-8 bytes of content in a choice's `message` or `delta`: every text that may be a model's tokens, and every
 * text in an unknown member. A token has at least a byte, so there are never more tokens than bytes. Zero if it is not
 * an object. The time is linear in the number of values.
 */
export function deliveredInChoice(message: unknown): number {
  const fields = asObject(message);
  if (fields === undefined) return 0;
  return (
    contentBytes(fields.content) +
    contentBytes(fields.refusal) +
    reasoningBytes(fields) +
    contentBytes(fields.images) +
    audioBytes(fields.audio) +
    sum(fields.tool_calls, toolCallBytes) +
    calledBytes(fields.function_call) +
    otherBytes(fields)
  );
}

/** A choice without the usages in it, its message and its delta; the same object if there are none. */
export function withoutUsage(choice: unknown): unknown {
  const fields = asObject(choice);
  if (fields === undefined) return choice;
  let shown = saysUsage(fields) ? { ...fields, usage: undefined } : fields;
  for (const name of CONTENTS) {
    const inner = asObject(fields[name]);
    if (inner !== undefined && saysUsage(inner)) shown = { ...shown, [name]: { ...inner, usage: undefined } };
  }
  return shown;
}

const CONTENTS = ["message", "delta"] as const;

function saysUsage({ usage }: JsonObject): boolean {
  return (usage ?? null) !== null;
}

/** Whether the provider says that a choice failed. */
export function isFailedChoice(choice: unknown): boolean {
  return (asObject(choice)?.error ?? null) !== null;
}

/** The members of a message that are counted above. */
const COUNTED: ReadonlySet<string> = new Set([
  "content",
  "refusal",
  "reasoning",
  "reasoning_content",
  "reasoning_details",
  "images",
  "audio",
  "tool_calls",
  "function_call",
]);
/** The members of a message that are no tokens of a model. */
const NOT_CONTENT: ReadonlySet<string> = new Set([
  "role",
  "id",
  "type",
  "name",
  "model",
  "object",
  "index",
  "finish_reason",
  "stop_reason",
  "native_finish_reason",
  "annotations",
  "citations",
  "usage",
  "error",
]);

function otherBytes(fields: JsonObject): number {
  let bytes = 0;
  for (const name of Object.keys(fields)) {
    if (!COUNTED.has(name) && !NOT_CONTENT.has(name)) bytes += allTextBytes(fields[name]);
  }
  return bytes;
}

/** The bytes of all texts in a value, at any depth. */
function allTextBytes(value: unknown): number {
  let bytes = 0;
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next === "string") bytes += Buffer.byteLength(next);
    else if (typeof next === "object" && next !== null) for (const inner of Object.values(next)) left.push(inner);
  }
  return bytes;
}

/** Some providers send the same text under several names. It counts once. */
function reasoningBytes(fields: JsonObject): number {
  return Math.max(
    contentBytes(fields.reasoning_content),
    contentBytes(fields.reasoning),
    contentBytes(fields.reasoning_details),
  );
}

/** A text, one part, or a list of parts. */
function contentBytes(content: unknown): number {
  if (typeof content === "string") return Buffer.byteLength(content);
  return Array.isArray(content) ? sum(content, partBytes) : partBytes(content);
}

function partBytes(part: unknown): number {
  if (typeof part === "string") return Buffer.byteLength(part);
  const fields = asObject(part);
  if (fields === undefined) return 0;
  return (
    textBytes(fields.text) +
    textBytes(fields.summary) +
    textBytes(fields.refusal) +
    textBytes(fields.thinking) +
    textBytes(fields.data) +
    addressBytes(fields.image_url) +
    audioBytes(fields.audio) +
    audioBytes(fields.input_audio)
  );
}

function addressBytes(image: unknown): number {
  return textBytes(image) + textBytes(asObject(image)?.url);
}

function audioBytes(audio: unknown): number {
  const fields = asObject(audio);
  return textBytes(fields?.data) + textBytes(fields?.transcript);
}

function toolCallBytes(call: unknown): number {
  const fields = asObject(call);
  return calledBytes(fields?.function) + calledBytes(fields?.custom);
}

/** A function's name and arguments, or a custom tool's name and input. */
function calledBytes(called: unknown): number {
  const fields = asObject(called);
  return textBytes(fields?.name) + textBytes(fields?.arguments) + textBytes(fields?.input);
}

function textBytes(text: unknown): number {
  return typeof text === "string" ? Buffer.byteLength(text) : 0;
}

function sum(list: unknown, bytes: (element: unknown) => number): number {
  return Array.isArray(list) ? list.reduce<number>((total, element) => total + bytes(element), 0) : 0;
}
