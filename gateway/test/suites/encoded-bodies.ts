import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { assertError } from "../assert-error.ts";
import type { TestAccount } from "../fund.ts";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";
import { sendHttp, type WireAnswer } from "../http-client.ts";

/** Request bodies in each `Content-Encoding`, whole and damaged. */
const isDeep = process.env.DEEP === "1";
const BODIES = isDeep ? 20_000 : 100;
const seed = Number(process.env.FUZZ_SEED ?? (isDeep ? Date.now() : 1));
const AT_ONCE = 16;
const USD = 1_000_000_000;
const CHAT = "/v1/chat/completions";

const zstd = (bytes: Buffer, windowLog: number): Buffer =>
  zstdCompressSync(bytes, {
    params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_windowLog]: windowLog },
  });
const encoders: Record<string, (bytes: Buffer) => Buffer> = {
  gzip: (bytes) => gzipSync(bytes),
  br: (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  zstd: (bytes) => zstd(bytes, 20),
};
const encodings = Object.keys(encoders);
const text = Buffer.from(
  JSON.stringify({ model: "sim-small", max_tokens: 1, messages: [{ role: "user", content: "hello" }] }),
);
/** More than a decoder is given at once. */
const LONG = 192 * 1024;
const SKIPPABLE_FRAME = Buffer.from("502a4d180400000061626364", "hex");

export function testEncodedBodies(start: StartHost): void {
  describe("an encoded body", () => {
    const host = hostFor(start);
    let account: TestAccount;
    before(async () => {
      account = await host.account(1_000 * USD);
    });
    const uncaught: unknown[] = [];
    const note = (error: unknown): number => uncaught.push(error);
    before(() => process.on("uncaughtExceptionMonitor", note));
    after(() => process.off("uncaughtExceptionMonitor", note));
    /** The runner keeps the process alive after an error that would end a gateway in it. */
    afterEach(() => assert.deepEqual(uncaught, []));

    function post(path: string, encoding: string, body: Uint8Array, key: string | null): Promise<WireAnswer> {
      const authorization = key === null ? {} : { authorization: `Bearer ${key}` };
      const headers = { ...authorization, "content-type": "application/json", "content-encoding": encoding };
      return sendHttp(host.url, { path, body, headers });
    }
    const chat = (encoding: string, body: Uint8Array): Promise<WireAnswer> => post(CHAT, encoding, body, account.key);

    for (const [encoding, encode] of Object.entries(encoders)) {
      test(`in ${encoding} that ends before its bytes do is refused, and the gateway lives`, async () => {
        for (const end of [Buffer.from("a"), Buffer.alloc(LONG, 7), Buffer.alloc(LONG)]) {
          assertError(await chat(encoding, Buffer.concat([encode(text), end])), 400, "invalid_request");
        }
        assert.equal((await chat(encoding, encode(text))).status, 200);
      });

      test(`that is not ${encoding}, not all of it, or large without it, is refused`, async () => {
        const whole = encode(text);
        for (const body of [text, whole.subarray(0, whole.length - 8)]) {
          assertError(await chat(encoding, body), 400, "invalid_request");
        }
        assertError(await chat(encoding, encode(Buffer.alloc(64 * 1024 * 1024, 32))), 413, "request_too_large");
      });

      test(`in ${encoding} is not read where no credential is sent, nor with one that is not ours`, async () => {
        for (const path of ["/auth", "/api/v1/keys"]) {
          for (const body of [encode(text), Buffer.concat([encode(text), Buffer.alloc(LONG, 7)])]) {
            assertError(await post(path, encoding, body, null), 415, "unsupported_media_type");
          }
        }
        assertError(await post(CHAT, encoding, encode(text), null), 401, "missing_credentials");
        assertError(await post(CHAT, encoding, encode(text), `${account.key.slice(0, -1)}!`), 401, "invalid_api_key");
      });
    }

    test("of two gzip members is their text; of two zstd frames or a skippable one it is refused", async () => {
      const [one, two] = [text.subarray(0, 20), text.subarray(20)];
      assert.equal((await chat("gzip", Buffer.concat([gzipSync(one), gzipSync(two)]))).status, 200);
      const frames = [zstd(one, 20), zstd(two, 20)];
      for (const body of [frames, [SKIPPABLE_FRAME, zstd(text, 20)], [zstd(text, 20), SKIPPABLE_FRAME]]) {
        const { message } = assertError(await chat("zstd", Buffer.concat(body)), 400, "invalid_request");
        assert.match(message, /bytes follow the end of the zstd data/);
      }
    });

    test("in zstd may have a window of 8 MiB, and none larger", async () => {
      // The window is that of the header only if the header does not say the size.
      const header = (windowLog: number): Buffer => Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (windowLog - 10) << 3]);
      const rawBlock = Buffer.from([1 | (text.length << 3), text.length >> 5, 0]);
      const frame = (windowLog: number): Buffer => Buffer.concat([header(windowLog), rawBlock, text]);
      assert.equal((await chat("zstd", frame(23))).status, 200);
      for (const windowLog of [24, 27, 31]) {
        assertError(await chat("zstd", frame(windowLog)), 400, "invalid_request");
      }
    });

    const junk = fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes));
    const longJunk = fc.integer({ min: 0, max: 255 }).map((byte) => Buffer.alloc(LONG, byte));
    const none = fc.constant(Buffer.alloc(0));
    const other = fc.constantFrom(
      ...encodings.flatMap((name) => [encoders[name]?.(text) ?? text, encoders[name]?.(Buffer.alloc(0)) ?? text]),
      text,
      SKIPPABLE_FRAME,
      zstd(text, 27),
      Buffer.from("28b52ffd", "hex"),
    );
    const frameOf = (encoding: string): fc.Arbitrary<Buffer> =>
      fc.oneof(
        { weight: 4, arbitrary: fc.constant(encoders[encoding]?.(text) ?? text) },
        { weight: 1, arbitrary: other },
      );
    const prefix = fc.oneof({ weight: 4, arbitrary: none }, { weight: 1, arbitrary: junk });
    const trailing = fc.oneof(
      { weight: 4, arbitrary: none },
      { weight: 2, arbitrary: other },
      { weight: 1, arbitrary: junk },
      { weight: 1, arbitrary: longJunk },
    );
    const cut = fc.oneof(
      { weight: 4, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 20 }) },
    );
    const sent = fc.constantFrom(...encodings).chain((encoding) =>
      fc.tuple(prefix, frameOf(encoding), cut, trailing).map(([prefix, frame, cut, trailing]) => ({
        encoding,
        body: Buffer.concat([prefix, frame.subarray(0, Math.max(0, frame.length - cut)), trailing]),
      })),
    );

    test(`of random parts is served or refused, and the gateway lives: ${BODIES} (seed ${seed})`, async (context) => {
      const queue = fc.sample(sent, { numRuns: BODIES, seed });
      const statuses = new Map<number, number>();
      await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
            const { encoding, body } = next;
            const answer = await chat(encoding, body).catch((cause: unknown) => {
              throw new Error(`no answer to ${encoding} ${body.toString("hex").slice(0, 500)}`, { cause });
            });
            statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
            if (answer.status !== 200) assertError(answer, 400, "invalid_request");
          }
        }),
      );
      context.diagnostic([...statuses].map(([status, times]) => `${times} x ${status}`).join(", "));
      for (const status of [200, 400]) assert.ok((statuses.get(status) ?? 0) > BODIES / 50, `few were ${status}`);
    });
  });
}
