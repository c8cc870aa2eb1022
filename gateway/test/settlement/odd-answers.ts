import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { StartHost } from "../host.ts";
import { hostWithStub } from "../host-for.ts";
import { alertsOf, type Settled, settledOne } from "./audit.ts";
import { routeBodies } from "./faulty-settlements.ts";
import { SMALL, USD } from "./pay.ts";
import type { StubAnswer } from "./stub-provider.ts";

const CHAT = "/v1/chat/completions";
const EMBEDDINGS = "/v1/embeddings";
const IMAGES = "/v1/images/generations";
const IMAGE = "/v1/image/generate";
const SPEECH = "/v1/audio/speech";
/** Larger than what is gathered before it is sent. */
const LARGE_BYTES = 1_200_000;

type Asked = Settled & { status: number; headers: Headers; text: string; broken: boolean; losses: number[] };

/** Whole answers of other forms than the simulator's, or of none: for every host. */
export function testOddAnswers(startHost: StartHost): void {
  describe("a provider that answers something else", () => {
    const { host, provider } = hostWithStub(startHost);

    /** One request on an account of its own, answered with this. */
    async function ask(
      path: string,
      answer: StubAnswer | object,
      body = routeBodies[path]?.("x") ?? {},
      asked = host,
    ): Promise<Asked> {
      provider.say("body" in answer ? (answer as StubAnswer) : { body: JSON.stringify(answer) });
      const account = await asked.account(USD);
      const response = await asked.call(path, { key: account.key, body });
      const { status, headers } = response;
      const read = await response.text().then(
        (text) => ({ text, broken: false }),
        () => ({ text: "", broken: true }),
      );
      const settled = await settledOne(asked, account.address);
      return { ...settled, status, headers, ...read, losses: (await alertsOf(asked, settled.receipt.id)).losses };
    }

    function assertCharged({ receipt, losses }: Asked, chargeNanoUsd: number, lossNanoUsd = 0): void {
      const { state } = receipt;
      const expected = [chargeNanoUsd > 0 ? "settled" : "released", chargeNanoUsd, lossNanoUsd];
      assert.deepEqual([state, receipt.chargeNanoUsd, receipt.lossNanoUsd], expected);
      assert.deepEqual(losses, lossNanoUsd > 0 ? [lossNanoUsd] : []);
    }

    const usage = { prompt_tokens: 6, completion_tokens: 4, total_tokens: 10 };
    const usageNanoUsd = 6 * SMALL.promptNanoUsd + 4 * SMALL.completionNanoUsd;
    const choice = (content: string): object => ({ index: 0, message: { role: "assistant", content } });

    test("images that are none are an error, and free; what the provider may bill is a loss", async () => {
      const none = [[null], [""], [{}], [{ error: "x" }], [{ b64_json: null }], [{ b64_json: "" }, { url: "" }]];
      for (const list of none) {
        for (const [path, field] of [
          [IMAGES, "data"],
          [IMAGE, "images"],
        ] as const) {
          const asked = await ask(path, { [field]: list }, { model: "sim-image", prompt: "x" });
          assert.equal(asked.status, 502, JSON.stringify(list));
          assertCharged(asked, 0, asked.receipt.heldNanoUsd);
        }
      }
    });

    test("an image in JSON where its bytes were asked for is an error, and free", async () => {
      const bodies = {
        "/v1/image/edit": { model: "sim-edit", prompt: "x", image: "aGk=" },
        "/v1/image/upscale": { image: "aGk=" },
      };
      for (const [path, body] of Object.entries(bodies)) {
        const asked = await ask(path, { data: [{ b64_json: "aGk=" }] }, body);
        assert.equal(asked.status, 502, asked.text);
        assertCharged(asked, 0, asked.receipt.heldNanoUsd);
      }
    });

    test("of the images that were asked for, those are charged that came", async () => {
      const body = { model: "sim-image", prompt: "x", variants: 4 };
      const lists = [["aGk="], ["aGk=", null, ""], ["aGk=", { error: "x" }, "aGk="], ["a", "b", "c", "d", "e"]];
      for (const [index, count] of [1, 1, 2, 4].entries()) {
        const asked = await ask(IMAGE, { id: "i", images: lists[index] }, body);
        assert.equal(asked.status, 200, asked.text);
        const whole = asked.receipt.heldNanoUsd;
        assertCharged(asked, (whole * count) / 4, (whole * (4 - count)) / 4);
      }
    });

    for (const size of [4, LARGE_BYTES]) {
      test(`of images of ${size} bytes, one of which was blocked, those are charged that came`, async () => {
        const headers = { "x-venice-is-content-violation": "true" };
        // The provider may send a placeholder for a blocked image, and bills at most all but one.
        for (const [asked, came, charged, lost] of [
          [4, 3, 3, 0],
          [4, 4, 3, 0],
          [4, 2, 2, 1],
          [4, 0, 0, 3],
          [1, 1, 0, 0],
        ] as const) {
          const body = JSON.stringify({ images: Array(came).fill("A".repeat(size)) });
          const answer = await ask(IMAGE, { headers, body }, { model: "sim-image", prompt: "x", variants: asked });
          assert.deepEqual([answer.status, answer.broken, answer.text], [200, false, body]);
          const each = answer.receipt.heldNanoUsd / asked;
          assertCharged(answer, charged * each, lost * each);
        }
      });
    }

    test("a whole chat without usage costs its prompt and a token for each three bytes", async () => {
      const content = "The quick brown fox jumps over the lazy dog. ".repeat(5);
      const { receipt } = await ask(CHAT, { choices: [choice(content)] });
      const prompt = receipt.heldNanoUsd - 100 * SMALL.completionNanoUsd;
      assert.equal(receipt.chargeNanoUsd, prompt + Math.ceil(content.length / 3) * SMALL.completionNanoUsd);
    });

    test("a whole chat without usage and content is free, and what the provider may bill is a loss", async () => {
      const asked = await ask(CHAT, { choices: [choice("")] });
      assert.equal(asked.status, 200);
      assertCharged(asked, 0, asked.receipt.heldNanoUsd);
    });

    test("content types are told apart in any case, and are ours", async () => {
      const answer = (type: string, body: string): StubAnswer => ({ headers: { "content-type": type }, body });
      const chat = JSON.stringify({ choices: [choice("hi")], usage });
      const json = await ask(CHAT, answer("Application/JSON; charset=utf-8; note=provider", chat));
      assert.deepEqual([json.status, json.headers.get("content-type")], [200, "application/json"]);
      assertCharged(json, usageNanoUsd);
      const binary = { model: "sim-image", prompt: "x", return_binary: true };
      for (const [path, given, shown] of [
        [IMAGE, "Image/PNG; note=provider", "image/png"],
        [IMAGE, "image/svg+xml", "application/octet-stream"],
        [SPEECH, "AUDIO/mpeg;x=y", "audio/mpeg"],
        [SPEECH, "audio/x-provider", "application/octet-stream"],
        [SPEECH, "application/octet-stream", "application/octet-stream"],
      ] as const) {
        const asked = await ask(path, answer(given, "bytes"), path === IMAGE ? binary : undefined);
        assert.deepEqual([asked.status, asked.text], [200, "bytes"]);
        assert.equal(asked.headers.get("content-type"), shown);
        assertCharged(asked, asked.receipt.heldNanoUsd);
      }
      const stream = { ...routeBodies[CHAT]?.("x"), stream: true };
      const events = await ask(CHAT, answer("Text/Event-Stream; note=provider", "data: [DONE]\n\n"), stream);
      assert.equal(events.headers.get("content-type"), "text/event-stream");
    });

    test("the usage is ours, with our cost, and nothing of the provider's own is in an answer", async () => {
      const own = { ...usage, cost: 7, cost_details: { upstream: 1 }, is_byok: true };
      const choices = [
        { ...choice("hi"), usage: { cost: 7 } },
        { index: 1, message: { content: "x", usage: own } },
      ];
      const asked = await ask(CHAT, { provider: "P", usage: own, choices });
      const shown = JSON.parse(asked.text);
      assert.deepEqual(Object.keys(shown).sort(), ["choices", "usage"]);
      assert.equal(shown.usage.cost_nano_usd, usageNanoUsd);
      assert.doesNotMatch(asked.text, /is_byok|cost_details|cost":7/);
      assertCharged(asked, usageNanoUsd);
    });

    test("a choice that failed and has no content is an error of the provider's, also in a large answer", async () => {
      for (const size of [10, LARGE_BYTES]) {
        const failed = { ...choice(""), finish_reason: "error", error: { message: "no" }, padding: "" };
        const asked = await ask(CHAT, { padding: "x".repeat(size), choices: [failed], usage });
        // The status of a large answer is sent before it is read to its end.
        if (size !== LARGE_BYTES) assert.equal(asked.status, 502);
        else assert.ok(asked.broken || asked.status !== 200, "it looks whole");
        assert.equal(asked.receipt.state, "released");
        assert.equal(asked.receipt.lossNanoUsd, usageNanoUsd);
      }
    });

    test("content that was made of no token is not believed: it is charged as of unknown usage, and told", async () => {
      const none = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
      for (const size of [100, LARGE_BYTES]) {
        const asked = await ask(CHAT, { choices: [choice("x y ".repeat(size / 4))], usage: none });
        const { usage: alerts } = await alertsOf(host, asked.receipt.id);
        const { usage } = JSON.parse(asked.text) as { usage: { cost_nano_usd: number; estimated: boolean } };
        const shown = [usage.cost_nano_usd, usage.estimated];
        assert.deepEqual([asked.status, shown, alerts.length], [200, [asked.receipt.chargeNanoUsd, true], 1]);
        assert.ok(asked.receipt.chargeNanoUsd > 0);
      }
    });

    test("the key of the provider is in no member of an answer and in no content, in no writing of it", async () => {
      for (const write of [
        (key: string) => key,
        (key: string) => encodeURIComponent(key).replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
      ]) {
        for (const size of [10, 100_000, LARGE_BYTES]) {
          let written = "";
          const asked = await ask(CHAT, {
            async *body({ key }: { key: string }) {
              written = write(key);
              const before = { id: `a-${written}`, model: written, system_fingerprint: `fp ${written}` };
              const text = `${"x y ".repeat(size / 4)} ${written} ${"x y ".repeat(size / 4)}`;
              const choices = [{ ...choice(text), finish_reason: written, [written]: 1 }];
              const answer = JSON.stringify({ ...before, choices, usage, service_tier: written });
              const cut = answer.indexOf(` ${written} x`) + 7;
              yield answer.slice(0, cut);
              await sleep(5);
              yield answer.slice(cut);
            },
          });
          assert.deepEqual([asked.status, asked.broken], [200, false]);
          assert.ok(written.length > 8 && !asked.text.includes(written), asked.text.slice(0, 300));
          assert.equal(asked.detail.upstreamId, null);
          assertCharged(asked, usageNanoUsd);
        }
      }
    });

    test("an answer in UTF-16, or with NUL bytes in it, is none, and the gateway answers on", async () => {
      const text = JSON.stringify({ choices: [choice("hi")], usage });
      const utf16 = [...text].map((character) => `${character}\0`).join("");
      const odd = [utf16, "\0", text.replace('"index":0', '"index":\0 0')];
      for (const body of odd) {
        const asked = await ask(CHAT, { body });
        assert.equal(asked.status, 502, JSON.stringify(body));
        assert.deepEqual([asked.receipt.state, asked.receipt.chargeNanoUsd], ["released", 0]);
      }
      for (const body of odd.slice(0, 2)) {
        const asked = await ask(CHAT, { body: body.repeat(LARGE_BYTES / body.length + 1) });
        assert.equal(asked.status, 502);
      }
      assertCharged(await ask(CHAT, { body: text }), usageNanoUsd);
    });

    test("an answer nested 100,000 deep is an answer", async () => {
      const deep = "[".repeat(100_000) + "]".repeat(100_000);
      const body = `{"choices":[${JSON.stringify(choice("hi"))},${deep}],"usage":${JSON.stringify(usage)}}`;
      const asked = await ask(CHAT, { body });
      assert.equal(asked.status, 200, asked.text.slice(0, 300));
      assertCharged(asked, usageNanoUsd);
    });

    /** An answer in pieces, of at least this many bytes. */
    async function* large(head: string, element: string, tail: string): AsyncIterable<string> {
      yield head;
      for (let bytes = 0; bytes < LARGE_BYTES; bytes += element.length) yield `${bytes === 0 ? "" : ","}${element}`;
      yield tail;
    }
    const vector = JSON.stringify({ object: "embedding", index: 0, embedding: Array(1_000).fill(0.123456789) });
    const embeddingUsage = { prompt_tokens: 6, total_tokens: 6 };

    test("a large answer is sent whole, is charged by its usage, and ends with ours", async () => {
      const tail = `],"usage":${JSON.stringify(embeddingUsage)},"provider":"P"}`;
      const asked = await ask(EMBEDDINGS, { body: () => large('{"object":"list","data":[', vector, tail) });
      const shown = JSON.parse(asked.text);
      assert.deepEqual(Object.keys(shown), ["object", "data", "usage"]);
      assert.ok(asked.text.length > LARGE_BYTES && shown.data.length > 40);
      assertCharged(asked, 6 * 12.5);
      assert.equal(shown.usage.cost_nano_usd, 6 * 12.5);
    });

    test("a large image is sent whole, as bytes and in JSON", async () => {
      const asked = await ask(
        IMAGE,
        { body: () => large('{"images":["aGk=","', "AAAA".repeat(16_000).replace(",", ""), '"]}') },
        {
          model: "sim-image",
          prompt: "x",
          variants: 2,
        },
      );
      assert.equal(asked.status, 200);
      const [image, ...more] = JSON.parse(asked.text).images;
      assert.deepEqual([image, more.length], ["aGk=", 1]);
      assertCharged(asked, asked.receipt.heldNanoUsd);
      const binary = { model: "sim-image", prompt: "x", return_binary: true };
      const bytes = await ask(
        IMAGE,
        { headers: { "content-type": "image/png" }, body: () => large("", "b".repeat(9_999), "") },
        binary,
      );
      assert.ok(bytes.status === 200 && !bytes.broken && bytes.text.length > LARGE_BYTES);
      assertCharged(bytes, bytes.receipt.heldNanoUsd);
    });

    test("a large answer that breaks off is a broken connection, and costs what came of it", async () => {
      async function* broken(head: string, element: string): AsyncIterable<string> {
        yield* large(head, element, "");
        throw new Error("the provider breaks off");
      }
      const vectors = await ask(EMBEDDINGS, { body: () => broken('{"data":[', vector) });
      assert.equal(vectors.broken, true);
      assertCharged(vectors, vectors.receipt.heldNanoUsd);
      const known = await ask(EMBEDDINGS, {
        body: () => broken(`{"usage":${JSON.stringify(embeddingUsage)},"data":[`, vector),
      });
      assert.equal(known.broken, true);
      assertCharged(known, 6 * 12.5);
      const binary = { model: "sim-image", prompt: "x", return_binary: true };
      const half = await ask(
        IMAGE,
        { headers: { "content-type": "image/png" }, body: () => broken("", "b".repeat(9_999)) },
        binary,
      );
      assert.equal(half.broken, true);
      assertCharged(half, 0, half.receipt.heldNanoUsd);
    });

    test("a large answer that fails costs what came of it, also where its connection stays open", async (context) => {
      const hurried = await startHost({ provider: provider.url, hurry: 20 });
      context.after(() => hurried.stop());
      const body = { model: "sim-image", prompt: "x", variants: 4 };
      for (const tail of ['],"error":{"message":"x"}}', ']x"}', "]"]) {
        async function* failing(): AsyncIterable<string> {
          yield* large('{"images":[', `"${"A".repeat(LARGE_BYTES)}"`, tail);
          await sleep(3_000);
        }
        const asked = await ask(IMAGE, { body: failing }, body, hurried);
        const each = asked.receipt.heldNanoUsd / 4;
        assert.equal(asked.broken, true, tail);
        assertCharged(asked, each, 3 * each);
      }
    });

    test("is an error without what was asked for, and free; what it says it used for that, or may bill, is a loss", async () => {
      const usedTokens = { data: {}, usage: { prompt_tokens: 6, completion_tokens: 0, total_tokens: 6 } };
      const failed = { ...usedTokens, id: "answer-1", error: { message: "overloaded" } };
      const malformed = { error: "overloaded", usage: { prompt_tokens: -6, completion_tokens: 0 } };
      // Where tokens have no price, a count of them tells no bill. Without a usage the hold may be billed.
      const told: Record<string, number> = { [CHAT]: 6 * SMALL.promptNanoUsd, [EMBEDDINGS]: 6 * 12.5 };
      const empty = [{}, { error: null }, { choices: null }, { data: [] }, { images: "none" }, [], null, "text"];
      for (const answer of [...empty, usedTokens, failed, malformed]) {
        for (const path of Object.keys(routeBodies)) {
          if (path === SPEECH || (path === CHAT && answer === usedTokens)) continue;
          const asked = await ask(path, { body: JSON.stringify(answer) });
          const isFailed = answer === failed || answer === malformed;
          const isTold = answer === usedTokens || answer === failed;
          const loss = (isTold ? told[path] : undefined) ?? (isFailed ? 0 : asked.receipt.heldNanoUsd);
          assert.deepEqual([asked.status, JSON.parse(asked.text).error?.code], [502, "upstream_error"], path);
          assertCharged(asked, 0, loss);
          const { usage: alerts } = await alertsOf(host, asked.receipt.id);
          assert.equal(alerts.length, answer === malformed && path in told ? 1 : 0, path);
          assert.equal(asked.detail.upstreamId, answer === failed ? failed.id : null, path);
        }
      }
    });
  });
}
