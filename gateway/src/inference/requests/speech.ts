import type { ModelFeatures } from "@inference/protocol/model";
import { speechRequest } from "@inference/protocol/wire/speech";
import { type FieldRefusal, validate } from "../../http/json/validate.ts";
import { checkListed, findModel } from "./find-model.ts";
import { type ParsedOrder, writeBody } from "./order.ts";
import type { OrderContext } from "./order-context.ts";
import { dropped, type FieldRule, oneOf, sortFields, unsupported } from "./sort-fields.ts";

const rules: ReadonlyMap<string, FieldRule> = new Map([
  ["user", dropped()],
  ["metadata", dropped()],
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
  const { known, ignored } = sortFields(body, speechRequest.shape, rules);
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
