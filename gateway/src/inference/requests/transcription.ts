import { fail } from "@inference/protocol/errors";
import { transcriptionRequest } from "@inference/protocol/wire/transcriptions";
import { validate } from "../../http/json/validate.ts";
import { measureAudio } from "./audio-length.ts";
import { checkListed, findModel } from "./find-model.ts";
import type { ParsedOrder } from "./order.ts";
import type { OrderContext } from "./order-context.ts";
import { dropped, type FieldRule, oneOf, sortFields, unsupported } from "./sort-fields.ts";
import { writeForm } from "./write-form.ts";

const rules: ReadonlyMap<string, FieldRule> = new Map([
  ["user", dropped()],
  ["temperature", unsupported("Leave it out.", oneOf("0", "0.0"))],
  ["prompt", unsupported("Leave it out, and name the language with `language`.", oneOf(""))],
  ["stream", unsupported("The transcript comes whole: send `false` or leave it out.", oneOf("false"))],
  ["chunking_strategy", unsupported("Leave it out.", oneOf("auto"))],
  ["timestamp_granularities[]", unsupported("Send `timestamps: true`.")],
  ["include[]", unsupported("Leave it out.")],
]);

/**
 * POST /audio/transcriptions. The hold is the price of the file's own length, which no header can understate. The
 * provider is asked for JSON, because a text has no duration; the gateway writes a text itself.
 */
export function parseTranscriptionOrder(body: unknown, context: OrderContext): ParsedOrder {
  const { known, ignored } = sortFields(body, transcriptionRequest.shape, rules);
  const model = findModel(known.model, "transcription", context);
  const { file, ...request } = validate(transcriptionRequest, known);
  const { formats } = model.features;
  const isText = request.response_format === "text";
  if (isText) request.response_format = "json";
  if (formats !== undefined) checkListed("response_format", request.response_format, formats, model.id);
  const audio = measureAudio(file.bytes) ?? unmeasured();
  const sent = { name: `audio.${audio.format}`, type: audio.type, bytes: audio.bytes };
  return {
    upstreamPath: "/audio/transcriptions",
    ...writeForm({ ...request, model: model.id }, { file: sent }),
    model,
    stream: false,
    ...(isText ? { answerAs: "text" } : {}),
    ignored,
    terms: {
      kind: "transcription",
      snapshotId: context.snapshot.id,
      price: model.price,
      audioMs: audio.lengthMs,
    },
  };
}

function unmeasured(): never {
  const message =
    "The length of `file` cannot be read from its bytes, so its price is not known. Send WAV of 16-bit PCM, " +
    "MP3 of layer III or Ogg Opus: `ffmpeg -i FILE -vn -ac 1 -c:a libopus audio.ogg` makes the last one.";
  return fail("invalid_request", message, { param: "file" });
}
