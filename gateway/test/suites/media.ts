import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertError } from "../assert-error.ts";
import { wav } from "../audio.ts";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";
import { sendHttp, type WireAnswer } from "../http-client.ts";
import { providerRecords, settledOf } from "../settlement/audit.ts";
import { assertBilledExactly, assertFree, assertLost, makeTag, pay, USD } from "../settlement/pay.ts";

const TRANSCRIBE = "/v1/audio/transcriptions";
const SECOND_NANO_USD = 31_480;

/** A form with files, as `fetch` and the official clients send one. */
function formOf(fields: Readonly<Record<string, string | Uint8Array>>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === "string") form.append(name, value);
    else form.append(name, new Blob([value as BlobPart]), "file.bin");
  }
  return form;
}

/** Requests with a file: what is held, charged and sent on. For every host. */
export function testMedia(start: StartHost): void {
  describe("a transcription", () => {
    const host = hostFor(start);

    /** Of 2.5 s. */
    const speech = (note: string, more: Readonly<Record<string, string>> = {}): FormData =>
      formOf({ file: wav(2_500, note), model: "sim-transcribe", ...more });

    test("is charged what the provider bills: by its reported duration, else by the file's own length", async () => {
      const reported = await pay(host, TRANSCRIBE, (tag) =>
        speech(`${tag}[[milliseconds=2300]]`, { timestamps: "true" }),
      );
      assertBilledExactly(reported);
      const { text, duration, timestamps, usage } = JSON.parse(reported.text);
      assert.match(text, /^A transcript of/);
      assert.deepEqual([duration, timestamps.segment.length], [2.3, 1]);
      const costNanoUsd = Math.ceil(2.3 * SECOND_NANO_USD);
      assert.deepEqual(usage, { type: "duration", seconds: 2.3, cost: costNanoUsd / USD, cost_nano_usd: costNanoUsd });
      assert.deepEqual([reported.detail.basis, reported.detail.usage?.audioMs], ["usage", 2_300]);

      const unreported = await pay(host, TRANSCRIBE, (tag) => speech(`${tag}[[no-duration]]`));
      assertBilledExactly(unreported);
      assert.deepEqual([JSON.parse(unreported.text).usage.seconds, unreported.detail.basis], [2.5, "delivered"]);
      assert.equal(unreported.receipt.heldNanoUsd, 4 * SECOND_NANO_USD);

      const asText = await pay(host, TRANSCRIBE, (tag) => speech(tag, { response_format: "text" }));
      assertBilledExactly(asText);
      assert.equal(asText.headers.get("content-type"), "text/plain; charset=utf-8");
      assert.match(asText.text, /^A transcript of \d+ bytes\.$/);
      assert.equal(asText.detail.basis, "usage", "the provider is asked for JSON, which has a duration");
    });

    test("is charged though its text is empty, because silence is audio too", async () => {
      for (const response_format of ["json", "text"]) {
        const silent = await pay(host, TRANSCRIBE, (tag) => speech(`${tag}[[silence]]`, { response_format }));
        assertBilledExactly(silent);
        assert.equal(response_format === "text" ? silent.text : JSON.parse(silent.text).text, "");
      }
    });

    test("costs at most the hold, whatever duration is reported", async () => {
      const { receipt, bill, alerts } = await pay(host, TRANSCRIBE, (tag) => speech(`${tag}[[milliseconds=9000]]`));
      assert.equal(receipt.chargeNanoUsd, receipt.heldNanoUsd);
      assert.equal(receipt.lossNanoUsd, bill - receipt.heldNanoUsd);
      assert.equal(alerts.length, 1);
    });

    test("is free if it fails, and a loss if its answer breaks off", async () => {
      assertFree(await pay(host, TRANSCRIBE, (tag) => speech(`${tag}[[fault=503]]`)));
      const refused = await pay(host, TRANSCRIBE, (tag) => speech(`${tag}[[fault=422]]`));
      assertFree(refused);
      assert.equal(refused.status, 400);
      for (const response_format of ["json", "text"]) {
        assertLost(await pay(host, TRANSCRIBE, (tag) => speech(`${tag}[[fault=cut-mid-stream]]`, { response_format })));
        assertLost(await pay(host, TRANSCRIBE, (tag) => speech(`${tag}[[fault=html-200]]`, { response_format })));
      }
    });

    test("is sent on as a form of ours, without the client's headers and name of the file", async () => {
      const tag = makeTag();
      const { key } = await host.account(USD);
      const answer = await host.call(TRANSCRIBE, { key, body: speech(tag), headers: { "x-mine": "mine" } });
      assert.equal(answer.status, 200, await answer.text());
      const [record] = providerRecords(host, tag);
      assert.doesNotMatch(`${record?.body} ${record?.headers}`, /file\.bin|x-mine/);
      assert.match(record?.body ?? "", /name="file"; filename="audio\.wav"\r\nContent-Type: audio\/wav\r\n/);
    });

    test("with an Idempotency-Key is served once, though its boundary is another one", async () => {
      const account = await host.account(USD);
      const tag = makeTag();
      const ask = (note: string) =>
        host.call(TRANSCRIBE, { key: account.key, body: speech(note), headers: { "idempotency-key": "once" } });
      const texts = [await (await ask(tag)).text(), await (await ask(tag)).text()];
      assert.equal(texts[0], texts[1]);
      assert.equal((await ask(`${tag} other`)).status, 422);
      assert.equal(providerRecords(host, tag).length, 1);
      assert.equal((await settledOf(host, account.address)).length, 1);
    });

    test("is refused before the provider is asked, and nothing is held", async () => {
      const { key, address } = await host.account(3 * SECOND_NANO_USD);
      const limited = await host.addKey(address, { models: ["sim-small"] });
      const tag = makeTag();
      const send = async (form: FormData, as = key): Promise<WireAnswer> => {
        const made = new Response(form);
        const headers = { authorization: `Bearer ${as}`, "content-type": made.headers.get("content-type") ?? "" };
        return sendHttp(host.url, { path: TRANSCRIBE, body: new Uint8Array(await made.arrayBuffer()), headers });
      };
      assertError(await send(speech(tag)), 402, "insufficient_balance");
      assertError(await send(speech(tag), limited.key), 403, "model_not_allowed");
      assertError(
        await send(formOf({ file: Buffer.from(`fLaC${tag}`), model: "sim-transcribe" })),
        400,
        "invalid_request",
      );
      assertError(await send(formOf({ file: wav(100, tag), model: "sim-speech" })), 400, "invalid_request");
      assertError(await send(speech(tag, { stream: "true" })), 400, "unsupported_parameter");
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      assertError(await sendHttp(host.url, { path: TRANSCRIBE, body: "{}", headers }), 415, "unsupported_media_type");
      assert.deepEqual(providerRecords(host, tag), []);
      assert.deepEqual(await host.balance(address), {
        ...(await host.balance(address)),
        settledNanoUsd: 0,
        heldNanoUsd: 0,
      });
    });
  });

  describe("an edit or upscaling of an image", () => {
    const host = hostFor(start);

    /** A picture's first bytes and a note, in which the simulator finds its markers. */
    const picture = (note = ""): Uint8Array => Buffer.from(`\u0089PNG\r\n\u001a\n${note}`, "latin1");
    const base64 = Buffer.from(picture()).toString("base64");
    const sizes = { model: "sim-edit-sizes", image: base64 };
    const paths: Record<string, [path: string, makeBody: (tag: string) => object, centsPerImage: number]> = {
      "an edit in OpenAI's form": [
        "/v1/images/edits",
        (tag) => formOf({ model: "sim-edit", prompt: tag, image: picture(), n: "1", size: "1536x1024" }),
        4,
      ],
      "one with a list of one image": [
        "/v1/images/edits",
        (tag) => formOf({ model: "sim-edit-sizes", prompt: tag, "image[]": picture(), quality: "low" }),
        6.15,
      ],
      "a native edit": ["/v1/image/edit", (tag) => ({ ...sizes, prompt: tag }), 8.15],
      "a native edit of a file": [
        "/v1/image/edit",
        (tag) =>
          formOf({ model: "sim-edit-sizes", prompt: tag, image: picture(), resolution: "2K", safe_mode: "false" }),
        11.15,
      ],
      "a native edit of chosen quality": [
        "/v1/image/edit",
        (tag) => ({ ...sizes, prompt: tag, resolution: "2K", quality: "low" }),
        8.15,
      ],
      "upscaling to twice the size": ["/v1/image/upscale", (tag) => formOf({ image: picture(tag) }), 2],
      "upscaling to four times the size": [
        "/v1/image/upscale",
        (tag) => ({ image: tag, scale: 4, creativity: 0.02 }),
        8,
      ],
    };
    for (const [name, [path, makeBody, cents]] of Object.entries(paths)) {
      test(`${name} is charged what the provider bills`, async () => {
        const paid = await pay(host, path, makeBody);
        assert.equal(paid.status, 200, paid.text);
        assertBilledExactly(paid);
        assert.equal(paid.bill, Math.round((cents * USD) / 100));
        if (path === "/v1/images/edits") {
          const { created, data } = JSON.parse(paid.text) as { created: number; data: { b64_json: string }[] };
          assert.ok(created > 1e9);
          assert.match(Buffer.from(data[0]?.b64_json ?? "", "base64").toString("latin1"), /^\u0089PNG.*IEND/s);
        } else assert.equal(paid.headers.get("content-type"), "image/png");
      });
    }

    test("a large image goes on in base64 while it arrives, whole or not at all", async () => {
      host.simulator.simulator.change({ largeImageBytes: 3_000_001 });
      const edit = (fault: string) => (tag: string) =>
        formOf({ model: "sim-edit", prompt: `${tag}[[fault=${fault}]]`, image: picture() });
      const large = await pay(host, "/v1/images/edits", edit("image-large"));
      assertBilledExactly(large);
      const { data } = JSON.parse(large.text) as { data: { b64_json: string }[] };
      const bytes = Buffer.from(data[0]?.b64_json ?? "", "base64");
      assert.ok(bytes.length > 3_000_001);
      assert.match(bytes.subarray(-12).toString("latin1"), /IEND/);
      const cut = await pay(host, "/v1/images/edits", edit("image-cut"));
      assertLost(cut);
      assert.equal(cut.status, 502);
      assertFree(await pay(host, "/v1/images/edits", edit("image-violation")));
    });

    test("is refused before the provider is asked", async () => {
      const { key, address } = await host.account(USD);
      const tag = makeTag();
      const refusals: [path: string, body: object, status: number, code: string][] = [
        ["/v1/image/edit", { ...sizes, prompt: tag, resolution: "8K" }, 400, "invalid_request"],
        ["/v1/image/edit", { ...sizes, prompt: tag, enhance_prompt: true }, 400, "unpriced_option"],
        ["/v1/image/edit", { ...sizes, prompt: tag, model: "sim-image" }, 400, "invalid_request"],
        ["/v1/image/generate", { model: "sim-edit", prompt: tag }, 400, "invalid_request"],
        [
          "/v1/image/edit",
          formOf({ model: "sim-edit", prompt: tag, image: Buffer.from("GIF89a") }),
          400,
          "invalid_request",
        ],
        ["/v1/image/upscale", { image: tag, scale: 3 }, 400, "invalid_request"],
        ["/v1/image/upscale", { image: { bytes: tag } }, 400, "invalid_request"],
        ["/v1/images/edits", { ...sizes, prompt: tag }, 415, "unsupported_media_type"],
      ];
      const edits = { model: "sim-edit", prompt: tag, image: picture() };
      for (const more of [{ mask: picture() }, { n: "2" }, { response_format: "url" }, { "image[]": picture() }]) {
        refusals.push(["/v1/images/edits", formOf({ ...edits, ...more }), 400, "unsupported_parameter"]);
      }
      for (const [path, body, status, code] of refusals) {
        const answer = await host.call(path, { key, body });
        const { error } = (await answer.json()) as { error: { code: string } };
        assert.deepEqual([answer.status, error.code], [status, code], path);
      }
      assert.deepEqual(providerRecords(host, tag), []);
      assert.equal((await host.balance(address)).heldNanoUsd, 0);
    });
  });
}
