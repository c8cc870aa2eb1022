import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GatewayError } from "@inference/protocol/errors";
import { wav } from "../../../test/audio.ts";
import { context, orderWith, refused } from "../../../test/models.ts";
import { parseForm } from "../../http/form.ts";
import { parseSpeechOrder as parseSpeech, parseTranscriptionOrder } from "./audio.ts";
import { measureAudio } from "./audio-length.ts";
import { readForm } from "./body-job.ts";
import { makeOrder } from "./make-order.ts";
import { writeForm } from "./write-form.ts";

const parser = { name: "transcription", parse: parseTranscriptionOrder };
const file = { name: "../../etc/passwd\r\nx: y.wav", type: "text/html", bytes: wav(2_500) };
const parse = (fields: object) => parseTranscriptionOrder({ file, model: "listener", ...fields }, context);

async function bodyOf(
  fields: readonly [string, string | Uint8Array][],
): Promise<{ blocks: Uint8Array[]; formType: string }> {
  const form = new FormData();
  for (const [name, value] of fields)
    form.append(name, typeof value === "string" ? value : new Blob([value as BlobPart]));
  const made = new Response(form);
  return { blocks: [await made.bytes()], formType: made.headers.get("content-type") ?? "" };
}

describe("a transcription", () => {
  test("holds the file's own length to the next second, and a second", () => {
    const { quote } = makeOrder(parse({}));
    assert.deepEqual([quote.maxNanoUsd, quote.bound?.audioMs], [4 * 1_000, 2_500]);
    const usage = { promptTokens: 0, completionTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
    assert.equal(quote.chargeForUsage({ ...usage, audioMs: 1 }), 1);
    assert.equal(quote.chargeForDelivered({ bytes: 1, events: 1 }), 2_500);
    assert.equal(quote.chargeForDelivered({ bytes: 0, events: 0 }), 0);
  });

  test("is written anew: the model's id, a name and a type of ours, and nothing between the fields", async () => {
    const injected = "en";
    const { upstreamBody, upstreamType = "" } = parse({ model: "ear", language: injected, response_format: "text" });
    const sent = await parseForm(upstreamBody, upstreamType);
    assert.deepEqual(sent, {
      response_format: "json",
      language: "en",
      model: "listener",
      file: { name: "audio.wav", type: "audio/wav", bytes: new Uint8Array(measureAudio(file.bytes)?.bytes ?? []) },
    });
    // A file that repeats the boundary of its own form has another one.
    const again = writeForm({ model: "listener" }, { file: { name: "a", type: "b/c", bytes: upstreamBody } });
    assert.deepEqual(Object.keys(await parseForm(again.upstreamBody, again.upstreamType)), ["model", "file"]);
  });

  test("is refused by field, with what to send", () => {
    refused(() => parse({ model: "voice" }), "invalid_request", "model");
    refused(() => parse({ file: undefined }), "invalid_request", "file");
    refused(() => parse({ file: "base64" }), "invalid_request", "file");
    refused(() => parse({ stream: "true" }), "unsupported_parameter", "stream");
    refused(() => parse({ prompt: "Names." }), "unsupported_parameter", "prompt");
    refused(() => parse({ never: "x" }), "unsupported_parameter", "never");
    refused(() => parse({ response_format: "srt" }), "invalid_request", "response_format");
    refused(() => parse({ language: "en\r\n" }), "invalid_request", "language");
    const flac = { ...file, bytes: Buffer.from("fLaC") };
    assert.match(
      refused(() => parse({ file: flac }), "invalid_request", "file"),
      /WAV.*MP3.*Opus/,
    );
  });

  test("has one fingerprint for one content, whatever the boundary and the order of fields", async () => {
    const ask = async (fields: readonly [string, string | Uint8Array][]): Promise<string | null> =>
      (await readForm(parser, { ...(await bodyOf(fields)), wantsFingerprint: true }, () => context)).fingerprint;
    const one = await ask([
      ["model", "listener"],
      ["file", wav(100)],
    ]);
    assert.match(one ?? "", /^[0-9a-f]{64}$/);
    assert.equal(
      await ask([
        ["file", wav(100)],
        ["model", "listener"],
      ]),
      one,
    );
    assert.notEqual(
      await ask([
        ["model", "listener"],
        ["file", wav(101)],
      ]),
      one,
    );
  });
});

describe("a form", () => {
  const read = async (text: string, type = "multipart/form-data; boundary=b"): Promise<unknown> =>
    parseForm(Buffer.from(text.replaceAll("\n", "\r\n")), type);
  const part = (name: string): string => `--b\nContent-Disposition: form-data; name="${name}"\n\nx\n`;

  test("has each field once, a list by its name, and any name", async () => {
    assert.deepEqual(await read(`${part("a")}${part("l[]")}${part("l[]")}${part("__proto__")}--b--\n`), {
      a: "x",
      "l[]": ["x", "x"],
      ["__proto__"]: "x",
    });
    await assert.rejects(read(`${part("a")}${part("a")}--b--\n`), /The field `a` is in the form twice/);
  });

  test("has its parts counted by the boundary that its parser reads", async () => {
    const many = `${part("a[]").repeat(33)}--b--\n`;
    const types = [
      'x="; boundary=zz;"; boundary=b',
      'boundary="b"; boundary=zz',
      "boundary=b; boundary=zz",
      "BOUNDARY=b",
      'boundary="\\b"; x=y',
    ];
    for (const type of types) await assert.rejects(read(many, `multipart/form-data; ${type}`), GatewayError, type);
    for (const type of ['charset=utf-8; boundary="b"', "boundary=b; charset=utf-8"]) {
      assert.deepEqual(await read(`${part("a")}--b--\n`, `multipart/form-data; ${type}`), { a: "x" });
    }
  });

  test("that is cut off, has no boundary, or has too many parts is refused", async () => {
    await assert.rejects(read(part("a")), /not a complete form/);
    await assert.rejects(read("", "multipart/form-data"), /names no boundary/);
    await assert.rejects(read(`${part("a").repeat(100_000)}--b--\n`), /more than 32 parts/);
    await assert.rejects(read("{}"), /not a complete form/);
  });
});

describe("speech", () => {
  const parseSpeechOrder = orderWith(parseSpeech);
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
    for (const input of ["", "x".repeat(4097), 5, undefined])
      refused(() => order({ input }), "invalid_request", "input");
    refused(() => order({ speed: 5 }), "invalid_request", "speed");
  });
});
