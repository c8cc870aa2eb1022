import assert from "node:assert/strict";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { sendHttp } from "@inference/gateway/test/http-client";
import { startStack } from "./testing/stack.ts";

/** On Node alone: Cloudflare compresses answers by itself. */
test("the documents are sent in gzip, in less than half of their bytes, to clients that accept it", async (context) => {
  const stack = await startStack();
  context.after(() => stack.stop());
  for (const path of ["/docs", "/openapi.json", "/llms.txt"]) {
    const plain = await sendHttp(stack.url, { path });
    const compressed = await sendHttp(stack.url, { path, headers: { "accept-encoding": "gzip" } });
    assert.equal(compressed.headers["content-encoding"], "gzip");
    assert.equal(gunzipSync(compressed.bytes).toString(), plain.text);
    assert.ok(compressed.bytes.length < plain.bytes.length / 2, `${compressed.bytes.length} of ${plain.bytes.length}`);
  }
});
