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
  assert.equal((await lastRecord(provider)).billedAtto, 6n * 12_500_000_000n);
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
