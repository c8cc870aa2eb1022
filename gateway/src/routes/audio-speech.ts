import { speechRequest } from "@inference/protocol/wire/speech";
import { ok } from "../docs/operation.ts";
import { parseSpeechOrder } from "../inference/requests/speech.ts";
import { meteredEndpoint } from "./metered-endpoint.ts";

export const createSpeech = meteredEndpoint({
  path: "/audio/speech",
  name: "speech",
  id: "createSpeech",
  title: "Speech",
  body: { name: "SpeechRequest", schema: speechRequest },
  answers: [ok("The sound, as it is made.", { "audio/*": null })],
  parse: parseSpeechOrder,
  passesThrough: true,
  content: null,
  answerFields: [],
});
