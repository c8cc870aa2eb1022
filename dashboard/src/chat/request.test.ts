import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { Model } from "../gateway.ts";
import { type Answer, type Chat, sumsOf } from "./chats.ts";
import { bodyOf, mostReserved } from "./request.ts";

const settings = { model: "m", system: "", temperature: "", maxTokens: 1_000 };
const question = (text: string, images: string[] = []) => ({ role: "user" as const, id: "q", text, images });
const answer = (more: Partial<Answer>): Answer => ({
  ...{ role: "assistant", id: "a", model: "m", text: "Yes.", reasoning: "", receipt: "r", firstTokenMs: 1 },
  ...{ usage: { input: 10, output: 5, nanoUsd: 7 }, end: "complete" },
  ...more,
});
const model = (pricing: object, more: object = {}): Model =>
  ({ pricing, context_length: 100_000, max_tokens: 16_000, ...more }) as unknown as Model;

test("a request has the system prompt, no empty answer, and images as parts", () => {
  const url = "data:image/png;base64,AA";
  const messages = [question("one"), answer({ text: "", end: "stopped" }), question("two", [url])];
  deepEqual(bodyOf({ ...settings, system: "Be brief.", temperature: "0.3" }, messages), {
    model: "m",
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "one" },
      {
        role: "user",
        content: [
          { type: "text", text: "two" },
          { type: "image_url", image_url: { url } },
        ],
      },
    ],
    ...{ max_tokens: 1_000, temperature: 0.3, stream: true, stream_options: { include_usage: true } },
  });
});

test("what is reserved is at the dearest price in reach: cache writes, tiers, fallbacks, the context of an image", () => {
  const text = bodyOf(settings, [question("x".repeat(5_000))]);
  const input = JSON.stringify(text).length + 32 + 256 + 1_024;
  const rates = { prompt: "0.000001", completion: "0.000002" };
  const output = 1_000 * 2_000;
  equal(mostReserved(text, [model(rates)]), input * 1_000 + output);
  equal(mostReserved(text, [model({ ...rates, input_cache_write: "0.000003" })]), input * 3_000 + output);
  const extended = { above_prompt_tokens: 4_000, prompt: "0.000005", completion: "0.000005" };
  equal(mostReserved(text, [model({ ...rates, extended })]), input * 5_000 + 1_000 * 5_000);
  equal(mostReserved(text, [model(rates), model({ ...rates, prompt: "0.000009" })]), input * 9_000 + output);
  equal(mostReserved(text, [model(rates, { context_length: 4_096, max_tokens: 10 })]), 4_096_000 + 20_000);
  const image = bodyOf(settings, [question("", ["data:image/png;base64,AA"])]);
  equal(mostReserved(image, [model(rates)]), 100_000 * 1_000 + output);
  equal(mostReserved(text, [model({ prompt: "0.000001" })]), undefined);
});

test("the cost of a chat has the answers that were replaced, and says how many charges are not known", () => {
  const chat: Chat = {
    ...settings,
    ...{ id: "c", title: "t", updatedAtMs: 0 },
    messages: [question("one"), answer({}), question("two"), answer({ usage: null, end: "stopped" })],
    replaced: [answer({ usage: { input: 1, output: 2, nanoUsd: 3 } }), answer({ receipt: null, usage: null })],
  };
  deepEqual(sumsOf(chat), { answers: 3, unknown: 1, input: 11, output: 7, nanoUsd: 10 });
});
