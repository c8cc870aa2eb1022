import assert from "node:assert/strict";
import { test } from "node:test";
import { contentBytes, readContent } from "./choice-content.ts";

const TEXT = "grün";
const BYTES = 5;
const bytesIn = (message: unknown): number => contentBytes(readContent(message));

for (const message of [
  { content: TEXT },
  { content: [{ type: "text", text: TEXT }] },
  { content: [TEXT] },
  { content: [{ type: "refusal", refusal: TEXT }] },
  { content: [{ type: "image_url", image_url: { url: TEXT } }] },
  { refusal: TEXT },
  { reasoning: TEXT },
  { reasoning_content: TEXT },
  { reasoning_details: [{ type: "reasoning.text", text: TEXT }] },
  { reasoning_details: [{ type: "reasoning.summary", summary: TEXT }] },
  { reasoning_details: [{ type: "reasoning.encrypted", data: TEXT }] },
  { content: null, function_call: { name: "", arguments: TEXT } },
  { content: null, tool_calls: [{ type: "function", function: { name: TEXT, arguments: "" } }] },
  { content: null, tool_calls: [{ type: "custom", custom: { name: "", input: TEXT } }] },
  { audio: { id: "a", data: TEXT } },
  { audio: { id: "a", transcript: TEXT } },
  { thoughts: TEXT },
  { thoughts: [{ deep: { deeper: [TEXT] } }], role: "assistant", annotations: [TEXT] },
  { images: [{ type: "image_url", image_url: { url: TEXT } }] },
]) {
  test(`content is counted in ${JSON.stringify(message)}`, () => {
    assert.equal(bytesIn(message), BYTES);
  });
}

test("one reasoning under several names counts once", () => {
  const message = { reasoning: TEXT, reasoning_content: TEXT, reasoning_details: [{ text: TEXT }] };
  assert.equal(bytesIn(message), BYTES);
});

test("arguments that are an object count as their JSON, unless they are nested too deeply to be written", () => {
  const call = (given: unknown) => ({ tool_calls: [{ function: { name: "", arguments: given } }] });
  assert.equal(bytesIn(call({ a: 1 })), '{"a":1}'.length);
  const depth = 200_000;
  const deep = JSON.parse(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`);
  assert.equal(bytesIn(call(deep)), 0);
});

test("what is no content counts for nothing", () => {
  for (const message of [null, undefined, "text", [TEXT], {}, { content: null }, { role: TEXT }, { content: 5 }]) {
    assert.equal(bytesIn(message), 0);
  }
});
