import assert from "node:assert/strict";
import { test } from "node:test";
import { lastRecord, MASTER_KEY, post, start } from "./client.ts";
import type { ProviderSimulator } from "./server.ts";

/** A second of silence in 8 bits at 8 kHz. */
function wav(): Buffer {
  const header = Buffer.from("RIFF....WAVEfmt ................................data....", "latin1").subarray(0, 44);
  header.writeUInt32LE(8_000, 28);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(8_000, 40);
  return Buffer.concat([header, Buffer.alloc(8_000)]);
}

async function send(provider: ProviderSimulator, path: string, fields: Record<string, string | Uint8Array>) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    form.append(name, typeof value === "string" ? value : new Blob([new Uint8Array(value)]));
  }
  const headers = { authorization: `Bearer ${MASTER_KEY}` };
  const answer = await fetch(provider.url + path, { method: "POST", headers, body: form });
  return { answer, cents: Number((await lastRecord(provider)).billed?.nanoUsd ?? 0) / 1e7 };
}

test("a transcription is billed by the milliseconds of its file, or by those that the file states", async () => {
  await using provider = await start();
  const fields = { model: "sim-transcribe", file: wav() };
  const { answer, cents } = await send(provider, "/audio/transcriptions", fields);
  assert.deepEqual(await answer.json(), { text: "A transcript of 8044 bytes.", duration: 1 });
  assert.equal(cents, 0.003148);
  const stated = { ...fields, file: Buffer.from("[[milliseconds=2500]][[no-duration]]"), response_format: "text" };
  const asText = await send(provider, "/audio/transcriptions", stated);
  assert.equal(await asText.answer.text(), "A transcript of 36 bytes.");
  assert.equal(asText.cents, 0.00787);
  assert.equal((await send(provider, "/audio/transcriptions", { ...fields, prompt: "x" })).answer.status, 400);
  assert.equal((await post(provider, "/audio/transcriptions", fields)).status, 415);
});

test("an edit is billed by resolution and quality, with its image where none is included; upscaling by factor", async () => {
  await using provider = await start();
  const image = Buffer.from("image");
  const edit = { model: "sim-edit-sizes", prompt: "x", image };
  assert.equal((await send(provider, "/image/edit", edit)).cents, 8.15);
  assert.equal((await send(provider, "/image/edit", { ...edit, resolution: "2K", quality: "low" })).cents, 8.15);
  assert.equal((await send(provider, "/image/edit", { ...edit, model: "sim-edit" })).cents, 4);
  assert.equal((await post(provider, "/image/upscale", { image: "aa" })).headers["content-type"], "image/png");
  assert.equal((await lastRecord(provider)).billed?.nanoUsd, "20000000");
  assert.equal((await send(provider, "/image/upscale", { image, scale: "4" })).cents, 8);
  assert.equal((await send(provider, "/image/upscale", { image, scale: "3" })).answer.status, 400);
});
