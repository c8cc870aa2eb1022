import type { Gateway } from "../../gateway.ts";
import { asObject, parseJson } from "../../json-object.ts";
import type { Call } from "../call.ts";
import type { InferenceRequest } from "../request.ts";
import type { Order } from "../requests/order.ts";
import type { AnswerWriter, Charged } from "../stream/answer-writer.ts";
import { readChoice } from "../stream/choice-content.ts";
import { writeChoices } from "../stream/writing-relay.ts";

/** The writer for the shape of another API; null if the answer passes unchanged. */
export function makeAnswerWriter(gateway: Gateway, call: Call, request: InferenceRequest): AnswerWriter | null {
  const { format, model } = call.order;
  if (format === undefined) return null;
  const owner = { account: request.credential.partition, model: model.id };
  return format.makeWriter({
    requestId: call.id,
    id: call.id.slice(call.id.indexOf("_") + 1),
    at: call.at,
    seal: (text) => gateway.reasoningSeal.seal(owner, text),
    secrets: gateway.secrets(call.upstreamKey),
  });
}

/** A whole chat answer in the shape of another API; empty if that API cannot carry it. */
export function writeWhole(writer: AnswerWriter, text: string, charged: Charged): string {
  const answer = asObject(parseJson(text)) ?? {};
  writer.start(answer);
  const choices: unknown[] = Array.isArray(answer.choices) ? answer.choices : [];
  if (writeChoices(writer, choices.map(readChoice)) !== null) return "";
  writer.end(charged);
  return writer.whole();
}

/** The headers of an answer: ours, and nothing of the provider's. */
export function answerHeaders(request: InferenceRequest, order: Order, contentType: string): Record<string, string> {
  const headers: Record<string, string> = { ...request.headers };
  for (const [name, value] of Object.entries(order.headers ?? {})) headers[name] = headerText(value);
  headers["content-type"] = contentType;
  if (order.format?.idHeader !== undefined) headers[order.format.idHeader] = request.id;
  const ignored = [...order.ignored, ...request.ignoredHeaders];
  if (ignored.length > 0) headers["x-ignored-parameters"] = namesOf(ignored);
  return headers;
}

const MAX_NAMES = 64;

/** A text as a header can have it. A client may name a field as it likes, and a provider a voice. */
function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?");
}

function namesOf(ignored: readonly string[]): string {
  const names = ignored.slice(0, MAX_NAMES).map(headerText);
  return (ignored.length > MAX_NAMES ? [...names, "..."] : names).join(", ");
}

/** The types of images and sounds that clients see. Any other type is hidden, because some types can run scripts. */
const binaryTypes = new Set([
  "image/avif",
  "image/gif",
  "image/jpeg",
  "image/png",
  "image/webp",
  "audio/aac",
  "audio/basic",
  "audio/flac",
  "audio/l16",
  "audio/mp3",
  "audio/mp4",
  "audio/mpeg",
  "audio/ogg",
  "audio/opus",
  "audio/pcm",
  "audio/wav",
  "audio/wave",
  "audio/webm",
  "audio/x-wav",
]);

/** A header's media type without its parameters, in lower case; empty if there is none. */
export function mediaType(header: string | null): string {
  return header?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** The type that a client sees for an image or a sound; null for any other type. */
export function binaryType(type: string): string | null {
  if (binaryTypes.has(type)) return type;
  return /^(image|audio)\//.test(type) ? "application/octet-stream" : null;
}
