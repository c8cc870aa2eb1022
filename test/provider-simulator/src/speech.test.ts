import assert from "node:assert/strict";
import { test } from "node:test";
import { json, lastRecord, post, start } from "./client.ts";

// 3.5 dollars a million, in atto-USD.
const CHARACTER = 3_500_000_000_000n;
const body = { model: "sim-speech", input: "Hello there." };

test("speech is raw audio of the asked format, with its length, and without usage", async () => {
  await using provider = await start();
  for (const [response_format, type] of Object.entries({ mp3: "audio/mpeg", opus: "audio/opus", wav: "audio/wav" })) {
    const heard = await post(provider, "/audio/speech", { ...body, response_format });
    assert.equal(heard.headers["content-type"], type);
    assert.equal(heard.headers["content-length"], String(heard.bytes.length));
  }
  const usual = await post(provider, "/audio/speech", { model: "sim-speech-hd", input: "Hi" });
  assert.equal(usual.headers["content-type"], "audio/wav");
});

test("streamed speech is chunked and the same audio", async () => {
  await using provider = await start();
  const input = "word ".repeat(100);
  const whole = await post(provider, "/audio/speech", { ...body, input });
  const streamed = await post(provider, "/audio/speech", { ...body, input, streaming: true });
  assert.equal(streamed.headers["transfer-encoding"], "chunked");
  assert.equal(streamed.headers["content-length"], undefined);
  assert.ok(streamed.bytes.equals(whole.bytes));
  assert.equal((await lastRecord(provider)).billedAtto, 500n * CHARACTER);
});

test("speech that the client leaves is billed by the setting", async () => {
  for (const abortBilling of ["full", "partial", "none"] as const) {
    await using provider = await start({ abortBilling });
    const input = `${"word ".repeat(400)}[[drip=10]]`;
    await post(provider, "/audio/speech", { ...body, input, streaming: true }, { leaveAtBytes: 3000 });
    const { aborted, billedAtto } = await lastRecord(provider);
    const sent = aborted?.unitsSent ?? 0;
    assert.ok(sent > 0 && sent < input.length);
    const characters = { full: input.length, partial: sent, none: 0 }[abortBilling];
    assert.equal(billedAtto, BigInt(characters) * CHARACTER);
  }
});

test("speech faults: an error before the headers, half of the audio, none at all", async () => {
  await using provider = await start();
  const failed = await post(provider, "/audio/speech", { ...body, model: "fault-speech-error" });
  assert.equal(failed.status, 500);
  assert.deepEqual(json(failed), { error: "Stream error" });
  assert.equal((await lastRecord(provider)).billedAtto, 0n);
  for (const streaming of [false, true]) {
    const cut = await post(provider, "/audio/speech", { ...body, model: "fault-speech-cut", streaming });
    assert.equal(cut.status, 200);
    assert.equal(cut.complete, false);
    assert.equal((await lastRecord(provider)).billedAtto, 6n * CHARACTER);
  }
  const empty = await post(provider, "/audio/speech", { ...body, model: "fault-speech-empty" });
  assert.deepEqual([empty.status, empty.bytes.length], [200, 0]);
  assert.equal((await lastRecord(provider)).billedAtto, 0n);
});
