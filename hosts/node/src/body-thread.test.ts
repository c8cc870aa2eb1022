import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, describe, test } from "node:test";
import { pricesUnknown } from "@inference/gateway/catalogue/price-list";
import { makeReasoningSeal } from "@inference/gateway/inference/answer/reasoning-seal";
import { type ReadBody, readBody, readForm, type SentBodyJob } from "@inference/gateway/inference/requests/body-job";
import { endpoints } from "@inference/gateway/routes/all";
import { wav } from "@inference/gateway/test/audio";
import { context, models } from "@inference/gateway/test/models";
import { openBodyThread } from "./body-thread.ts";

const secret = randomBytes(32);
const reasoningSeal = makeReasoningSeal({ secret }, { bytes: randomBytes });
const sealed = reasoningSeal.seal({ account: context.account, model: "text-1" }, "thought");
const thread = openBodyThread({ secret });
after(() => thread.stop());

const parsers = new Map(endpoints.flatMap(({ parser }) => (parser === undefined ? [] : [[parser.name, parser]])));
const { reasoningSeal: _, snapshot, ...settings } = context;

function jobOf(parser: string, text: string, more: Partial<SentBodyJob> = {}): SentBodyJob {
  const bytes = Buffer.from(text);
  // The thread takes blocks that have memory of their own, and no more of others than they are.
  const blocks = [new Uint8Array(bytes.subarray(0, 5)), bytes.subarray(5, 10), new Uint8Array(bytes.subarray(10))];
  return { parser, blocks, wantsFingerprint: true, context: settings, snapshot, ...more };
}

/** Reads the same body in this thread. */
function inPlace(job: SentBodyJob): ReadBody<unknown> {
  const parser = parsers.get(job.parser) ?? assert.fail(job.parser);
  return readBody(parser, job, () => ({ ...job.context, reasoningSeal, snapshot: job.snapshot ?? pricesUnknown() }));
}

const long = 'é"\\\n'.repeat(100_000);
const messages = [{ role: "user", content: long }];
const tools = [{ type: "custom", name: "patch", format: { syntax: "lark", definition: "start: /a/" } }];
const input = [
  { role: "user", content: long },
  { type: "reasoning", summary: [], encrypted_content: sealed },
  { type: "custom_tool_call", call_id: "1", name: "patch", input: long },
  { type: "custom_tool_call_output", call_id: "1", output: "ok" },
];
const bodies: [parser: string, body: object][] = [
  ["chat", { model: "text-1", messages, max_tokens: 5, user: "me" }],
  ["responses", { model: "text-1", input, tools }],
  ["messages", { model: "text-1", messages, max_tokens: 5, system: long }],
  ["count_tokens", { model: "text-1", messages }],
  ["embeddings", { model: "embed", input: [long, "short"] }],
  ["images", { model: "sizes", prompt: long }],
  ["image_generate", { model: "flat", prompt: "a" }],
  ["speech", { model: "voice", input: "Hello" }],
];

describe("the thread reads a body like the event loop:", () => {
  for (const [parser, body] of bodies) {
    test(`a body of ${parser}`, async () => {
      const expected = inPlace(jobOf(parser, JSON.stringify(body)));
      assert.match(expected.fingerprint ?? "", /^[0-9a-f]{64}$/);
      assert.deepEqual(await thread.read(jobOf(parser, JSON.stringify(body))), expected);
    });
  }

  test("a form", async () => {
    const form = `--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nlistener\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n${Buffer.from(wav(2_000)).toString("latin1")}\r\n--b--\r\n`;
    const job = () => ({
      ...jobOf("transcription", ""),
      blocks: [new Uint8Array(Buffer.from(form, "latin1"))],
      formType: "multipart/form-data; boundary=b",
    });
    const parser = parsers.get("transcription") ?? assert.fail();
    const expected = await readForm(parser, job(), () => ({ ...settings, reasoningSeal, snapshot }));
    assert.ok("parsed" in expected);
    assert.deepEqual(await thread.read(job()), expected);
  });

  for (const text of ["{", '{"a":1,"a":2}', '{"model":"text-1"}', '{"model":"none","messages":[]}', '{"a":1e999}']) {
    test(`a refusal of ${text}`, async () => {
      const expected = inPlace(jobOf("chat", text));
      assert.ok("refusal" in expected);
      assert.deepEqual(await thread.read(jobOf("chat", text)), expected);
    });
  }
});

test("prices change from one body to the next, and while they are not known a body has its fingerprint", async () => {
  const text = JSON.stringify({ model: "text-1", messages: [{ role: "user", content: "a" }] });
  const other = { ...snapshot, id: "other", models: new Map([...models].filter(([id]) => id !== "text-1")) };
  for (const prices of [snapshot, null, other, snapshot]) {
    const job = { snapshot: prices };
    const read = await thread.read(jobOf("chat", text, job));
    assert.deepEqual(read, inPlace(jobOf("chat", text, job)));
    assert.notEqual(read.fingerprint, null);
    assert.equal("parsed" in read, prices === snapshot);
  }
});

test("accounts take turns", async () => {
  const read: string[] = [];
  const text = JSON.stringify({ model: "text-1", messages });
  await Promise.all(
    ["a", "a", "a", "b", "c", "b"].map(async (account, index) => {
      await thread.read(jobOf("chat", text, { context: { ...settings, account } }));
      read.push(`${account}${index}`);
    }),
  );
  assert.deepEqual(read, ["a0", "a1", "b3", "c4", "a2", "b5"]);
});

test("an error of the thread is that body's alone: the next one is read in a new thread", async () => {
  await assert.rejects(thread.read(jobOf("nothing", "{}")), /no endpoint has the parser nothing/);
  const read = await thread.read(jobOf("speech", '{"model":"voice","input":"Hello"}'));
  assert.ok("parsed" in read);
});
