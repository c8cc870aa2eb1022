import { asObject, type JsonObject } from "../../json-object.ts";

/**
 * A piece of a choice's content. The meter counts pieces and the writers write pieces, so an answer in another API has
 * the content that is charged.
 */
export type ContentPiece = TextPiece | CallPiece | UnwrittenPiece;
export type TextKind = "text" | "refusal" | "reasoning";

type TextPiece = { [Kind in TextKind]: { kind: Kind; text: string } }[TextKind];

export type CallPiece = {
  kind: "call";
  /** The call's place in the answer; undefined if the provider does not say. The one call of the older API has none. */
  index: number | "legacy" | undefined;
  id: string;
  name: string;
  /** The arguments. */
  text: string;
};

/** `media` is content that only chat can carry. `other` is text in unknown members, which chat passes on. */
type UnwrittenPiece = { kind: "media"; bytes: number } | { kind: "other"; bytes: number };

export type Choice = {
  index: number;
  content: readonly ContentPiece[];
  finishReason: string | null;
  /** The provider's error of this choice, or null. */
  error: unknown;
};

export function readChoice(choice: unknown): Choice {
  const { index, delta, message, text, finish_reason: reason, error = null } = asObject(choice) ?? {};
  const read = {
    index: typeof index === "number" && index >= 0 ? index : 0,
    finishReason: typeof reason === "string" && reason !== "" ? reason : null,
    error,
  };
  // Some providers send one text under several names.
  const inDelta = readContent(delta);
  if (inDelta.length > 0) return { ...read, content: inDelta };
  const inMessage = readContent(message, true);
  return { ...read, content: inMessage.length > 0 ? inMessage : readContent({ content: text }) };
}

/** Whether the provider says that a choice failed. */
export function isFailedChoice(choice: unknown): boolean {
  return (asObject(choice)?.error ?? null) !== null;
}

/**
 * The content of a choice's `message` or `delta`: every text that may be a model's tokens, and every text in an unknown
 * member. Empty if it is not an object. The time is linear in the number of values.
 *
 * @param isMessage Whether the calls are in their order in the answer, as in a whole message.
 */
export function readContent(message: unknown, isMessage = false): ContentPiece[] {
  const pieces: ContentPiece[] = [];
  const fields = asObject(message);
  if (fields === undefined) return pieces;
  readReasoning(fields, pieces);
  readText(fields.content, "text", pieces);
  readText(fields.refusal, "refusal", pieces);
  if (Array.isArray(fields.tool_calls)) {
    for (const [place, call] of fields.tool_calls.entries()) readCall(call, isMessage ? place : undefined, pieces);
  }
  readCalled(fields.function_call, { index: "legacy", id: "" }, pieces);
  addUnwritten("media", sum(fields.images, partBytes) + partBytes(fields.images) + audioBytes(fields.audio), pieces);
  addUnwritten("other", otherBytes(fields), pieces);
  return pieces;
}

/** The UTF-8 bytes of content. */
export function contentBytes(content: readonly ContentPiece[]): number {
  return content.reduce((bytes, piece) => bytes + bytesOf(piece), 0);
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

/** The members of a message that have a reader below. */
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
  "usage",
  "error",
  "finish_reason",
  "stop_reason",
  "native_finish_reason",
  "annotations",
  "citations",
]);

function bytesOf(piece: ContentPiece): number {
  if (piece.kind === "media" || piece.kind === "other") return piece.bytes;
  const bytes = Buffer.byteLength(piece.text);
  return piece.kind === "call" ? bytes + Buffer.byteLength(piece.name) : bytes;
}

function addText(kind: TextKind, text: unknown, pieces: ContentPiece[]): void {
  if (typeof text === "string" && text !== "") pieces.push({ kind, text });
}

function addUnwritten(kind: "media" | "other", bytes: number, pieces: ContentPiece[]): void {
  if (bytes > 0) pieces.push({ kind, bytes });
}

/** A text, one part, or a list of parts. */
function readText(content: unknown, kind: TextKind, pieces: ContentPiece[]): void {
  if (typeof content === "string") addText(kind, content, pieces);
  else if (Array.isArray(content)) for (const part of content) readPart(part, kind, pieces);
  else readPart(content, kind, pieces);
}

function readPart(part: unknown, kind: TextKind, pieces: ContentPiece[]): void {
  if (typeof part === "string") addText(kind, part, pieces);
  const fields = asObject(part);
  if (fields === undefined) return;
  addText(kind, fields.text, pieces);
  addText("reasoning", fields.summary, pieces);
  addText("reasoning", fields.thinking, pieces);
  addText("refusal", fields.refusal, pieces);
  addUnwritten("media", mediaBytes(fields), pieces);
}

/** Some providers send one reasoning under several names, or as details alone. Details may be encrypted. */
function readReasoning(fields: JsonObject, pieces: ContentPiece[]): void {
  const { reasoning_content: one, reasoning: other, reasoning_details: details } = fields;
  const said = pieces.length;
  readText(textBytes(other) > textBytes(one) || !isContent(one) ? other : one, "reasoning", pieces);
  if (!isContent(details)) return;
  const inDetails: ContentPiece[] = [];
  readText(details, "reasoning", inDetails);
  const texts = inDetails.filter(({ kind }) => kind !== "media");
  if (pieces.length === said) pieces.push(...texts);
  const counted = contentBytes(pieces.slice(said));
  const inAll = contentBytes(inDetails);
  addUnwritten("other", inAll - counted, pieces);
}

function isContent(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

function readCall(call: unknown, place: number | undefined, pieces: ContentPiece[]): void {
  const { index, id, function: called, custom } = asObject(call) ?? {};
  const at = place ?? (typeof index === "number" ? index : undefined);
  readCalled(called, { index: at, id: textOf(id) }, pieces);
  // No client of another API has asked for a custom tool of chat.
  const { name, arguments: given, input } = asObject(custom) ?? {};
  addUnwritten("media", textBytes(name) + textBytes(given) + textBytes(input), pieces);
}

function readCalled(called: unknown, call: Pick<CallPiece, "index" | "id">, pieces: ContentPiece[]): void {
  const fields = asObject(called) ?? {};
  const { name, arguments: given, input } = fields;
  const text = argumentsOf(given);
  if (call.id !== "" || isContent(name) || text !== "")
    pieces.push({ kind: "call", ...call, name: textOf(name), text });
  addUnwritten("other", textBytes(input), pieces);
}

/** Some providers send an object. A value that is nested too deeply to be written is none. */
function argumentsOf(given: unknown): string {
  if (asObject(given) === undefined) return textOf(given);
  try {
    return JSON.stringify(given);
  } catch {
    return "";
  }
}

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

/** The bytes of a part of an image, of audio or of data. */
function mediaBytes(fields: JsonObject): number {
  return (
    textBytes(fields.data) + addressBytes(fields.image_url) + audioBytes(fields.audio) + audioBytes(fields.input_audio)
  );
}

/** All bytes of a part in a list of images. */
function partBytes(part: unknown): number {
  if (typeof part === "string") return Buffer.byteLength(part);
  const fields = asObject(part);
  if (fields === undefined) return 0;
  const { text, summary, refusal, thinking } = fields;
  return textBytes(text) + textBytes(summary) + textBytes(refusal) + textBytes(thinking) + mediaBytes(fields);
}

function addressBytes(image: unknown): number {
  return textBytes(image) + textBytes(asObject(image)?.url);
}

function audioBytes(audio: unknown): number {
  const fields = asObject(audio);
  return textBytes(fields?.data) + textBytes(fields?.transcript);
}

function textOf(text: unknown): string {
  return typeof text === "string" ? text : "";
}

function textBytes(text: unknown): number {
  return typeof text === "string" ? Buffer.byteLength(text) : 0;
}

function sum(list: unknown, bytes: (element: unknown) => number): number {
  return Array.isArray(list) ? list.reduce<number>((total, element) => total + bytes(element), 0) : 0;
}
