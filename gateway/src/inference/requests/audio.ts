import { fail } from "@inference/protocol/errors";
import type { ModelFeatures } from "@inference/protocol/model";
import { speechRequest } from "@inference/protocol/wire/speech";
import { transcriptionRequest } from "@inference/protocol/wire/transcriptions";
import { type FieldRefusal, validate } from "../../http/json/validate.ts";
import { measureAudio } from "./audio-length.ts";
import { checkListed, findModel } from "./find-model.ts";
import { type OrderContext, type ParsedOrder, writeBody } from "./order.ts";
import { dropped, type FieldRule, oneOf, sortFields, unsupported } from "./sort-fields.ts";
import { writeForm } from "./write-form.ts";

const speechRules: ReadonlyMap<string, FieldRule> = new Map([
  ...dropped("user", "metadata"),
  ["instructions", unsupported("Leave it out, or choose a voice that speaks that way.")],
  [
    "stream_format",
    unsupported("Send `audio` or leave it out; `streaming: true` sends the audio as it is made.", oneOf("audio")),
  ],
  ["stream", unsupported("Send `streaming: true`.", oneOf(false))],
]);

const refusals: readonly FieldRefusal[] = [
  { at: /^voice\b/, code: "invalid_request", advice: "send the name of a voice, a string. GET /v1/models lists them." },
];

/** POST /audio/speech. The answer is bytes, billed by the characters of the input. */
export function parseSpeechOrder(body: unknown, context: OrderContext): ParsedOrder {
  const { known, ignored } = sortFields(body, speechRequest.shape, speechRules);
  const model = findModel(known.model, "speech", context);
  const request = validate(speechRequest, known, refusals);
  const { formats } = model.features;
  const voice = voiceOf(request.voice, model.features, model.id);
  if (formats !== undefined) checkListed("response_format", request.response_format, formats, model.id);
  return {
    upstreamPath: "/audio/speech",
    upstreamBody: writeBody({ ...request, voice, model: model.id }),
    model,
    stream: false,
    ignored,
    ...(voice === request.voice || voice === undefined ? {} : { headers: { "x-voice": voice } }),
    terms: {
      kind: "speech",
      snapshotId: context.snapshot.id,
      price: model.price,
      characters: request.input.length,
    },
  };
}

/**
 * The voice to send. Programs name one of OpenAI's voices, because its API requires one. If the model has none of that
 * name, it speaks in its default voice.
 */
function voiceOf(requested: string | undefined, features: ModelFeatures, id: string): string | undefined {
  const { voices, defaultVoice = voices?.[0] } = features;
  if (voices === undefined) return requested;
  const isOpenAis = requested !== undefined && openAiVoices.has(requested) && !voices.includes(requested);
  if (isOpenAis && defaultVoice !== undefined) return defaultVoice;
  checkListed("voice", requested, voices, id);
  return requested;
}

const openAiVoices: ReadonlySet<string> = new Set([
  ...["alloy", "ash", "ballad", "cedar", "coral", "echo", "fable"],
  ...["marin", "nova", "onyx", "sage", "shimmer", "verse"],
]);

const transcriptionRules: ReadonlyMap<string, FieldRule> = new Map([
  ...dropped("user"),
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
  const { known, ignored } = sortFields(body, transcriptionRequest.shape, transcriptionRules);
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
