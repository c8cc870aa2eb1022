import assert from "node:assert/strict";
import { test } from "node:test";
import { json, lastRecord, post, start } from "./client.ts";

interface Answer {
  readonly object: string;
  readonly model: string;
  readonly data: readonly { readonly index: number; readonly embedding: readonly number[] | string }[];
  readonly usage: unknown;
}

test("each input has a vector of unit length, the same in both encodings, and only prompt tokens are used", async () => {
  await using provider = await start();
  const body = { model: "sim-embedding", input: ["hello", "a longer text"] };
  const answer = json<Answer>(await post(provider, "/embeddings", body));
  assert.deepEqual(Object.keys(answer), ["object", "model", "data", "usage"]);
  assert.deepEqual(answer.usage, { prompt_tokens: 2 + 4, total_tokens: 6 });
  assert.deepEqual(
    answer.data.map((row) => row.index),
    [0, 1],
  );
  const base64 = json<Answer>(await post(provider, "/embeddings", { ...body, encoding_format: "base64" }));
  for (const [i, row] of answer.data.entries()) {
    const vector = Float32Array.from(row.embedding as readonly number[]);
    assert.equal(vector.length, 256);
    assert.ok(Math.abs(vector.reduce((sum, value) => sum + value * value, 0) - 1) < 1e-5);
    const bytes = Buffer.from(String(base64.data[i]?.embedding), "base64");
    assert.ok(bytes.equals(Buffer.from(vector.buffer)));
  }
  assert.equal((await lastRecord(provider)).billed?.attoUsd, String(6n * 12_500_000_000n));
});

test("a full batch of 2048 inputs is served, one more is not", async () => {
  await using provider = await start();
  const input = Array.from({ length: 2048 }, (_, i) => `text ${i}`);
  const heard = await post(provider, "/embeddings", { model: "sim-embedding", input, encoding_format: "base64" });
  assert.equal(json<Answer>(heard).data.length, 2048);
  assert.equal((await post(provider, "/embeddings", { model: "sim-embedding", input: [...input, "x"] })).status, 400);
});

test("dimensions can be chosen only where the model says so", async () => {
  await using provider = await start();
  const wide = await post(provider, "/embeddings", { model: "sim-embedding-wide", input: "x", dimensions: 8 });
  assert.equal(json<Answer>(wide).data[0]?.embedding.length, 8);
  assert.equal(
    (await post(provider, "/embeddings", { model: "sim-embedding", input: "x", dimensions: 8 })).status,
    400,
  );
});

test("token arrays, empty and over-long inputs and unknown fields are refused", async () => {
  await using provider = await start();
  const bad = [[1, 2, 3], [[1, 2]], [], "", ["ok", ""], "x".repeat(30_000), 7];
  for (const input of bad) {
    assert.equal((await post(provider, "/embeddings", { model: "sim-embedding", input })).status, 400);
  }
  const tokens = await post(provider, "/embeddings", { model: "sim-embedding", input: [1, 2, 3] });
  assert.match(tokens.text, /Token array inputs are not supported/);
  assert.match(
    (await post(provider, "/embeddings", { model: "sim-embedding", input: "x", n: 1 })).text,
    /Unrecognized key/,
  );
  assert.equal((await post(provider, "/embeddings", { model: "sim-small", input: "x" })).status, 404);
});

test("faults strike embeddings by marker", async () => {
  await using provider = await start();
  const meet = (fault: string): ReturnType<typeof post> =>
    post(provider, "/embeddings", { model: "sim-embedding", input: `[[fault=${fault}]]` });
  assert.equal((await meet("503")).status, 503);
  assert.equal((await lastRecord(provider)).billed?.attoUsd, "0");
  assert.match((await meet("usage-negative")).text, /"prompt_tokens":-6,/);
  assert.equal(json<Answer>(await meet("no-usage")).usage, undefined);
  assert.equal((await meet("cut-mid-stream")).complete, false);
});
