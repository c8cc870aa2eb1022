import type { Gateway } from "../../gateway.ts";
import { asObject, parseJson } from "../../json-object.ts";
import type { Call } from "../call.ts";
import type { InferenceRequest } from "../request.ts";
import { type AnswerWriter, type Charged, MAX_WRITTEN_CHARACTERS } from "../stream/answer-writer.ts";
import { readChoice } from "../stream/choice-content.ts";

/** What writes the answer in the shape of another API; null if it passes as it comes. */
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
  for (const choice of Array.isArray(answer.choices) ? answer.choices : []) {
    const { index, content, finishReason, error } = readChoice(choice);
    const isFirst = index === 0;
    if (error !== null || (!isFirst && content.length > 0)) return "";
    if (!writer.add(content) || writer.length() > MAX_WRITTEN_CHARACTERS) return "";
    if (isFirst && finishReason !== null) writer.finish(finishReason);
  }
  writer.end(charged);
  return writer.whole();
}
