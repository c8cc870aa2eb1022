import type { Gateway } from "../gateway.ts";
import { asObject, parseJson } from "../json-object.ts";
import type { Call } from "./call.ts";
import type { InferenceRequest } from "./request.ts";
import type { AnswerWriter, Charged } from "./stream/answer-writer.ts";

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
  });
}

/** A whole chat answer in the shape of another API. */
export function writeWhole(writer: AnswerWriter, text: string, charged: Charged): string {
  const answer = asObject(parseJson(text)) ?? {};
  const choice = asObject(Array.isArray(answer.choices) ? answer.choices[0] : undefined);
  writer.start(answer);
  writer.add(asObject(choice?.message) ?? {}, true);
  if (typeof choice?.finish_reason === "string") writer.finish(choice.finish_reason);
  writer.end(charged);
  return writer.whole();
}
