import assert from "node:assert/strict";
import { test } from "node:test";
import { context, orderWith, refused } from "../../../test/models.ts";
import * as route from "./audio.ts";

const parseSpeechOrder = orderWith(route.parseSpeechOrder);

const order = (fields: object) => parseSpeechOrder({ model: "voice", input: "Hi 👋", ...fields }, context);

test("speech costs its characters, and its body is written anew", () => {
  const fields = { voice: "b", response_format: "wav", speed: 1.5, streaming: true, language: "en" };
  const { upstreamPath, upstreamBody, stream, ignored, quote } = order({
    ...fields,
    stream_format: "audio",
    user: "u",
  });
  assert.deepEqual(JSON.parse(upstreamBody), { model: "voice", input: "Hi 👋", ...fields });
  assert.deepEqual([upstreamPath, stream, ignored], ["/audio/speech", false, ["stream_format", "user"]]);
  assert.equal(quote.flatNanoUsd, 5 * 3000);
});

test("what the model does not speak is refused with what it does", () => {
  assert.match(
    refused(() => order({ voice: "c" }), "invalid_request", "voice"),
    /a, b/,
  );
  refused(() => order({ voice: { id: "a" } }), "invalid_request", "voice");
  assert.match(
    refused(() => order({ response_format: "flac" }), "invalid_request", "response_format"),
    /mp3, wav/,
  );
  refused(() => order({ instructions: "whisper" }), "unsupported_parameter", "instructions");
  refused(() => order({ stream_format: "sse" }), "unsupported_parameter", "stream_format");
});

test("a voice of OpenAI's that the model has not is its default voice, and the answer says which", () => {
  const { upstreamBody, headers } = order({ voice: "alloy" });
  assert.deepEqual([JSON.parse(upstreamBody).voice, headers], ["a", { "x-voice": "a" }]);
  assert.equal(order({ voice: "b" }).headers, undefined);
  assert.equal(JSON.parse(order({}).upstreamBody).voice, undefined);
});

test("input is from 1 to 4096 characters", () => {
  assert.equal(order({ input: "x".repeat(4096) }).quote.maxNanoUsd, 4096 * 3000);
  for (const input of ["", "x".repeat(4097), 5, undefined]) refused(() => order({ input }), "invalid_request", "input");
  refused(() => order({ speed: 5 }), "invalid_request", "speed");
});
