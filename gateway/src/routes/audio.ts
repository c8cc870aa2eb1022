import { transcriptionAnswer } from "@inference/protocol/wire/answers";
import { speechRequest } from "@inference/protocol/wire/speech";
import { transcriptionRequest } from "@inference/protocol/wire/transcriptions";
import { json, ok } from "../docs/operation.ts";
import { parseSpeechOrder, parseTranscriptionOrder } from "../inference/requests/audio.ts";
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
});

export const createTranscription = meteredEndpoint({
  path: "/audio/transcriptions",
  name: "transcription",
  id: "createTranscription",
  title: "The text of speech",
  about:
    "The price is per second. The length of the audio is reserved, and the duration that the provider reports is charged.",
  body: { name: "TranscriptionRequest", schema: transcriptionRequest },
  bodyType: "form",
  bodyLimit: "chatBodyBytes",
  answers: [ok("The transcript.", { ...json("TranscriptionAnswer", transcriptionAnswer), "text/plain": null })],
  parse: parseTranscriptionOrder,
  content: { field: "text", elements: "text" },
  answerFields: ["text", "task", "language", "duration", "segments", "words", "timestamps", "usage"],
});
