import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { formatUsd } from "@inference/protocol/money";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";
import { checkSums } from "./audit.ts";
import { chunksIn, eventData } from "./chat-stream.ts";
import { assertBilledExactly, chatBody, pay } from "./pay.ts";

/** The settlement matrix where the usage is known, against what the provider says it bills: for every host. */
export function testExactSettlements(startHost: StartHost): void {
  describe("with its usage known, a request is charged what the provider bills, to the nano-dollar", () => {
    const host = hostFor(startHost);
    let chargedBefore: number;
    before(async () => {
      chargedBefore = await checkSums(host);
    });

    const tools = [{ type: "function", function: { name: "look_up", parameters: { type: "object", properties: {} } } }];
    const filler = "many words of a long prompt ".repeat(220);
    const chats: Record<string, (tag: string) => object> = {
      plain: chatBody("sim-small", "[[tokens=37]]"),
      "up to its maximum": chatBody("sim-small", "[[tokens=500]]"),
      "with a maximum left out": (tag) => ({ model: "sim-small", messages: [{ role: "user", content: tag }] }),
      "cached prompt": chatBody("sim-large", "[[prompt=150]][[cached=128]]"),
      "cache read and write": chatBody("sim-cached", "[[prompt=200]][[cached=100]][[cache-write=64]]"),
      "at the long-context threshold": chatBody("sim-extended-low", `${filler}[[prompt=1000]]`),
      "above the long-context threshold": chatBody("sim-extended-low", `${filler}[[prompt=1001]]`),
      free: chatBody("sim-free", ""),
      "float noise in the price": chatBody("sim-noisy", "[[tokens=33]]"),
      "the finest price": chatBody("sim-fine", "[[tokens=7]]"),
      reasoning: chatBody("sim-reasoning", "[[tokens=50]][[reasoning=32]]"),
      "three choices": chatBody("sim-small", "[[tokens=11]]", { n: 3 }),
      "a tool call": chatBody("sim-small", "[[finish=tool_calls]]", { tools }),
      "filtered content": chatBody("sim-small", "[[finish=content_filter]]"),
      "the tightest context": chatBody("sim-tiny-context", "[[tokens=128]]", { max_tokens: 128 }),
      dear: chatBody("sim-dear", "[[tokens=100]]"),
    };
    for (const [name, makeBody] of Object.entries(chats)) {
      test(`chat, ${name}`, async () => {
        const whole = await pay(host, "/v1/chat/completions", makeBody);
        const shown = { stream_options: { include_usage: true } };
        const stream = await pay(host, "/api/v1/chat/completions", (tag) => ({
          ...makeBody(tag),
          stream: true,
          ...shown,
        }));
        for (const paid of [whole, stream]) {
          assert.equal(paid.status, 200, paid.text);
          assertBilledExactly(paid);
        }
        assert.ok(whole.text.includes(`"cost":${formatUsd(whole.receipt.chargeNanoUsd)}`), whole.text);
        const [usage, ...more] = chunksIn(stream.text).filter((chunk) => chunk.usage);
        assert.equal(more.length, 0, "one usage chunk");
        assert.equal(usage?.usage?.cost, Number(formatUsd(stream.receipt.chargeNanoUsd)));
        assert.equal(eventData(stream.text).at(-1), "[DONE]");
      });
    }

    const input = (tag: string): string => `${tag} some text of some length, with é and 本語`;
    const prompt = input;
    const others: Record<string, [path: string, makeBody: (tag: string) => object]> = {
      "an embedding": ["/v1/embeddings", (tag) => ({ model: "sim-embedding", input: input(tag) })],
      "embeddings of many": [
        "/v1/embeddings",
        (tag) => ({
          model: "sim-embedding",
          input: [tag, ...Array.from({ length: 99 }, (_, index) => `text ${index}`)],
        }),
      ],
      "embeddings of chosen size": [
        "/v1/embeddings",
        (tag) => ({ model: "sim-embedding-wide", input: [input(tag)], dimensions: 64, encoding_format: "base64" }),
      ],
      "an image": ["/v1/images/generations", (tag) => ({ model: "sim-image", prompt: prompt(tag) })],
      "an image by size": [
        "/v1/images/generations",
        (tag) => ({ model: "sim-image-sizes", prompt: prompt(tag), size: "1024x1024" }),
      ],
      "an image of the usual size and quality": [
        "/v1/images/generations",
        (tag) => ({ model: "sim-image-quality", prompt: prompt(tag), size: "auto" }),
      ],
      "an image as url": [
        "/v1/images/generations",
        (tag) => ({ model: "sim-image", prompt: prompt(tag), response_format: "url", output_format: "jpeg" }),
      ],
      "an image, natively": ["/v1/image/generate", (tag) => ({ model: "sim-image", prompt: prompt(tag) })],
      "an image of default resolution and quality": [
        "/v1/image/generate",
        (tag) => ({ model: "sim-image-quality", prompt: prompt(tag) }),
      ],
      "four variants": ["/v1/image/generate", (tag) => ({ model: "sim-image", prompt: prompt(tag), variants: 4 })],
      "three large variants": [
        "/v1/image/generate",
        (tag) => ({ model: "sim-image-sizes", prompt: prompt(tag), variants: 3, resolution: "4K" }),
      ],
      "an image as bytes": [
        "/v1/image/generate",
        (tag) => ({ model: "sim-image", prompt: prompt(tag), return_binary: true, format: "png" }),
      ],
      speech: ["/v1/audio/speech", (tag) => ({ model: "sim-speech", input: input(tag) })],
      "speech of characters beyond 16 bits": [
        "/v1/audio/speech",
        (tag) => ({ model: "sim-speech-hd", input: `${tag} \u{1f642}\u{1f680}` }),
      ],
      "speech as it is made": [
        "/v1/audio/speech",
        (tag) => ({
          model: "sim-speech",
          input: input(tag),
          streaming: true,
          response_format: "wav",
          voice: "am_adam",
        }),
      ],
    };
    for (const resolution of ["1K", "2K", "4K"]) {
      for (const quality of ["low", "medium", "high"]) {
        others[`an image of ${resolution} in ${quality} quality`] = [
          "/v1/image/generate",
          (tag) => ({ model: "sim-image-quality", prompt: prompt(tag), resolution, quality, variants: 2 }),
        ];
      }
    }
    for (const [name, [path, makeBody]] of Object.entries(others)) {
      test(name, async () => {
        const paid = await pay(host, path, makeBody);
        assert.equal(paid.status, 200, paid.text);
        assertBilledExactly(paid);
        assert.ok(paid.bill > 0);
      });
    }

    test("altogether: accounts, uses, the ceiling and the provider's total are one number", async () => {
      const charged = (await checkSums(host)) - chargedBefore;
      assert.equal(charged, Number(host.simulator.simulator.ledger.totals.nano));
    });
  });
}
