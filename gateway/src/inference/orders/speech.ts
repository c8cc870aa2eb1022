import { speechRequest } from "@inference/protocol/wire/speech";
import { quoteSpeech } from "../../metering/quote-speech.ts";
import type { Order } from "../order.ts";
import { checkListed } from "./check-listed.ts";
import { findModel } from "./find-model.ts";
import type { OrderContext } from "./order-context.ts";
import { dropped, type FieldRule, oneOf, sortFields, unsupported } from "./sort-fields.ts";
import { type Refusal, validate } from "./validate.ts";

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

const refusals: readonly Refusal[] = [
  { at: /^voice\b/, code: "invalid_request", advice: "send the name of a voice, a string. GET /v1/models lists them." },
];

/** POST /audio/speech. The answer is bytes, billed by the characters of the input. */
export function parseSpeechOrder(body: unknown, context: OrderContext): Order {
  const { known, ignored } = sortFields(body, speechRequest.shape, rules);
  const model = findModel(known.model, "speech", context);
  const request = validate(speechRequest, known, refusals);
  const { voices, formats } = model.features;
  if (voices !== undefined) checkListed("voice", request.voice, voices, model.id);
  if (formats !== undefined) checkListed("response_format", request.response_format, formats, model.id);
  return {
    upstreamPath: "/audio/speech",
    upstreamBody: JSON.stringify({ ...request, model: model.id }),
    model,
    stream: false,
    includeUsage: false,
    ignored,
    quote: quoteSpeech({ snapshotId: context.snapshot.id, price: model.price, input: request.input }),
  };
}
