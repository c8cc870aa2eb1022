import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { accountPartition } from "@inference/ledger/partition";
import { eventually } from "@inference/protocol/testing/eventually";
import type { TestAccount } from "../fund.ts";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";
import { checkAccount, providerRecords, settledOf } from "../settlement/audit.ts";
import { makeTag } from "../settlement/pay.ts";

/** `Idempotency-Key` on paid POSTs: asked twice, served and charged once. */
const USD = 1_000_000_000;
const DAY = 86_400_000;
const MINUTE = 60_000;
const CHAT = "/v1/chat/completions";

export function testIdempotency(start: StartHost): void {
  describe("Idempotency-Key", () => {
    const host = hostFor(start);

    function chat(tag: string, markers = "", more: object = {}): object {
      const messages = [{ role: "user", content: `${tag} ${markers}` }];
      return { model: "sim-small", messages, max_tokens: 100, ...more };
    }

    type Said = { status: number; headers: Headers; bytes: Buffer; text: string; code: string | undefined };

    async function post(key: string, name: string | null, body: object, path = CHAT): Promise<Said> {
      const headers: Record<string, string> = name === null ? {} : { "idempotency-key": name };
      const answer = await host.call(path, { key, body, headers });
      const bytes = Buffer.from(await answer.arrayBuffer());
      const text = bytes.toString();
      const code = /^\{"error":.*"code":"(\w+)"/.exec(text)?.[1];
      return { status: answer.status, headers: answer.headers, bytes, text, code };
    }

    /** The account's payments, checked against all sums of the ledger. */
    async function paid({ address }: TestAccount): Promise<{ requests: number; settledNanoUsd: number }> {
      const all = await settledOf(host, address);
      await checkAccount(host, address, all);
      const { settledNanoUsd } = await host.balance(address);
      return { requests: all.filter(({ receipt }) => receipt.state === "settled").length, settledNanoUsd };
    }

    const sent = (tag: string): number => providerRecords(host, tag).length;

    describe("the same request again", () => {
      test("is answered with the first one's bytes, headers and id, charges nothing and asks no provider", async () => {
        const account = await host.account(USD);
        const tag = makeTag();
        const first = await post(account.key, "once", chat(tag, "", { metadata: { a: "b" } }));
        assert.equal(first.status, 200, first.text);
        assert.equal(first.headers.get("idempotent-replayed"), null);
        const books = await paid(account);
        assert.equal(books.requests, 1);
        const again = await post(account.key, "once", chat(tag, "", { metadata: { a: "b" } }));
        assert.equal(again.text, first.text);
        assert.equal(again.status, 200);
        assert.equal(again.headers.get("idempotent-replayed"), "true");
        for (const name of [
          "x-request-id",
          "x-receipt",
          "content-type",
          "x-ignored-parameters",
          "access-control-allow-origin",
        ]) {
          assert.equal(again.headers.get(name), first.headers.get(name), name);
        }
        assert.notEqual(first.headers.get("x-balance-usd"), null);
        assert.equal(again.headers.get("x-balance-usd"), null, "it may be another by now");
        assert.deepEqual(await paid(account), books);
        assert.equal(sent(tag), 1);
        const receipt = await host.call(`/api/v1/generation?id=${again.headers.get("x-request-id")}`, account);
        assert.equal(receipt.status, 200);
      });

      test("is the same whatever the order of its fields, its prefix and the key of the account", async () => {
        const account = await host.account(USD);
        const tag = makeTag();
        const first = await post(account.key, "once", { ...chat(tag), top_p: 0.5, temperature: 0.5 });
        const reordered = { temperature: 0.5, top_p: 0.5, ...chat(tag) };
        const again = await post(account.key, "once", reordered, "/api/v1/chat/completions");
        assert.deepEqual([again.status, again.text], [200, first.text]);
        assert.equal(sent(tag), 1);
      });

      test("is known where its body is read in pieces, by its long texts too", async () => {
        const account = await host.account(USD);
        const tag = makeTag();
        const long = "some words ".repeat(10_000);
        const first = await post(account.key, "once", { ...chat(tag, long), top_p: 0.5, metadata: { long } });
        assert.equal(first.status, 200, first.text);
        const again = await post(account.key, "once", { metadata: { long }, top_p: 0.5, ...chat(tag, long) });
        assert.deepEqual([again.status, again.text], [200, first.text]);
        const other = await post(account.key, "once", { ...chat(tag, `${long}.`), top_p: 0.5, metadata: { long } });
        assert.equal(other.code, "idempotency_mismatch");
        const shorter = { ...chat(tag, long), top_p: 0.5, metadata: { long: long.slice(1) } };
        assert.equal((await post(account.key, "once", shorter)).code, "idempotency_mismatch");
        assert.equal(sent(tag), 1);
      });

      test("is answered to who has nothing left, and not to who has no key", async () => {
        const account = await host.account(150_000);
        const body = chat(makeTag(), "[[tokens=100]]");
        const first = await post(account.key, "once", body);
        assert.equal(first.status, 200, first.text);
        assert.equal((await post(account.key, null, body)).code, "insufficient_balance");
        assert.equal((await post(account.key, "once", body)).text, first.text);
        const forged = `${account.key.slice(0, -1)}${account.key.endsWith("0") ? "1" : "0"}`;
        assert.equal((await post(forged, "once", body)).status, 401);
      });

      test("is replayed for images and their bytes too", async () => {
        const account = await host.account(USD);
        const body = { model: "sim-image", prompt: makeTag(), return_binary: true };
        const first = await post(account.key, "once", body, "/api/v1/image/generate");
        assert.equal(first.status, 200, first.text);
        assert.match(first.headers.get("content-type") ?? "", /^image\//);
        const again = await post(account.key, "once", body, "/api/v1/image/generate");
        assert.ok(again.bytes.equals(first.bytes));
        assert.equal(again.headers.get("content-type"), first.headers.get("content-type"));
        assert.equal((await paid(account)).requests, 1);
      });

      test("100 times at once is served and charged once, and the others are told to wait or are answered", async () => {
        const account = await host.account(USD);
        const tag = makeTag();
        const all = await Promise.all(
          Array.from({ length: 100 }, () => post(account.key, "once", chat(tag, "[[delay=2000]]"))),
        );
        const served = all.filter(({ status }) => status === 200);
        assert.ok(served.length >= 1);
        assert.equal(new Set(served.map(({ text }) => text)).size, 1);
        const waiting = all.filter(({ status }) => status !== 200);
        assert.ok(waiting.length > 50);
        for (const { status, code, headers } of waiting) {
          assert.deepEqual([status, code], [409, "idempotency_in_progress"]);
          assert.deepEqual([headers.get("retry-after"), headers.get("x-should-retry")], ["1", "true"]);
        }
        assert.equal(sent(tag), 1);
        assert.equal((await paid(account)).requests, 1);
      });

      test("is answered to a client that left before it had the answer, and paid for it once", async () => {
        const account = await host.account(USD);
        const tag = makeTag();
        const body = chat(tag, "[[delay=200]]");
        const abort = new AbortController();
        const { key } = account;
        const sent = host.call(CHAT, { key, body, headers: { "idempotency-key": "once" }, signal: abort.signal });
        const left = assert.rejects(sent, { name: "AbortError" });
        await eventually(() => providerRecords(host, tag).length > 0);
        abort.abort();
        await left;
        const again = await eventually(async () => {
          const said = await post(account.key, "once", body);
          if (said.status === 200) return said;
          assert.equal(said.code, "idempotency_in_progress");
          return false;
        });
        assert.equal(again.headers.get("idempotent-replayed"), "true");
        assert.equal(providerRecords(host, tag).length, 1);
        const { requests, settledNanoUsd } = await paid(account);
        const { usage } = JSON.parse(again.text) as { usage: { cost: number } };
        assert.deepEqual([requests, settledNanoUsd], [1, Math.round(usage.cost * USD)]);
      });

      test("a day later is a new request, and until then the old one", async () => {
        const account = await host.account(USD);
        const tag = makeTag();
        const first = await post(account.key, "once", chat(tag));
        await host.goTo(host.now() + DAY - MINUTE);
        assert.equal((await post(account.key, "once", chat(tag))).text, first.text);
        await host.goTo(host.now() + MINUTE);
        const later = await post(account.key, "once", chat(tag));
        assert.equal(later.headers.get("idempotent-replayed"), null);
        assert.notEqual(later.headers.get("x-request-id"), first.headers.get("x-request-id"));
        assert.equal(sent(tag), 2);
      });
    });

    describe("an answer that is not kept", () => {
      async function assertCompleted(account: TestAccount, first: Said, again: Said): Promise<void> {
        assert.deepEqual([again.status, again.code], [409, "idempotency_completed"], again.text);
        assert.equal(again.headers.get("x-should-retry"), "false");
        const { error } = JSON.parse(again.text) as { error: { metadata: { request_id: string } } };
        assert.equal(error.metadata.request_id, first.headers.get("x-request-id"));
        assert.equal((await paid(account)).requests, 1);
      }

      test("is a stream's: once it has ended the receipt's id is told, and nothing is charged", async () => {
        const account = await host.account(USD);
        const body = chat(makeTag(), "", { stream: true });
        const first = await post(account.key, "once", body);
        assert.match(first.text, /data: \[DONE\]/);
        await settledOf(host, account.address);
        await assertCompleted(account, first, await post(account.key, "once", body));
      });

      test("is one of more than a mebibyte, and one of just that is kept", async () => {
        const account = await host.account(100 * USD);
        const mebibyte = 1024 * 1024;
        const path = "/api/v1/image/generate";
        const large = { model: "sim-image", prompt: `${makeTag()} [[fault=image-large]]`, return_binary: true };
        host.simulator.simulator.change({ largeImageBytes: mebibyte + 1 });
        const first = await post(account.key, "larger", large, path);
        assert.equal(first.bytes.length, mebibyte + 1);
        await assertCompleted(account, first, await post(account.key, "larger", large, path));
        host.simulator.simulator.change({ largeImageBytes: mebibyte });
        const other = await post(account.key, "large", large, path);
        assert.equal(other.bytes.length, mebibyte);
        const again = await post(account.key, "large", large, path);
        assert.deepEqual([again.status, again.bytes.equals(other.bytes)], [200, true]);
      });

      test("is one that the key-value store has lost", async () => {
        const account = await host.account(USD);
        const tag = makeTag();
        const first = await post(account.key, "once", chat(tag));
        await host.keyValue.delete(`answer:${first.headers.get("x-request-id")}`);
        await assertCompleted(account, first, await post(account.key, "once", chat(tag)));
      });
    });

    describe("the same name for something else", () => {
      test("is 422 for another body, while the first runs and once it is over", async () => {
        const account = await host.account(USD);
        const tag = makeTag();
        const first = post(account.key, "once", chat(tag, "[[delay=2000]]"));
        await eventually(() => providerRecords(host, tag).length > 0);
        const early = await post(account.key, "once", chat(tag, "something else"));
        assert.deepEqual([early.status, early.code], [422, "idempotency_mismatch"]);
        assert.equal((await first).status, 200);
        const late = await post(account.key, "once", chat(tag, "something else"));
        assert.deepEqual(
          [late.status, late.code, late.headers.get("x-should-retry")],
          [422, "idempotency_mismatch", "false"],
        );
        assert.equal((await paid(account)).requests, 1);
      });

      test("is no number that is too large to be one, which would be written as the first one's null", async () => {
        const account = await host.account(USD);
        const tag = makeTag();
        const body = chat(tag, "", { temperature: null });
        assert.equal((await post(account.key, "once", body)).status, 200);
        const answer = await host.call(CHAT, {
          key: account.key,
          headers: { "idempotency-key": "once" },
          body: JSON.stringify(body).replace('"temperature":null', '"temperature":1e999'),
        });
        const { error } = (await answer.json()) as { error: { code: string; param: string } };
        assert.deepEqual([answer.status, error.code, error.param], [400, "invalid_request", "temperature"]);
        assert.equal(answer.headers.get("idempotent-replayed"), null);
      });

      test("is another request on another route, and in another account", async () => {
        const [one, other] = [await host.account(USD), await host.account(USD)];
        const tag = makeTag();
        const said = [
          await post(one.key, "once", chat(tag)),
          await post(other.key, "once", chat(tag)),
          await post(one.key, "once", { model: "sim-embedding", input: tag }, "/v1/embeddings"),
        ];
        assert.deepEqual(
          said.map(({ status, headers }) => [status, headers.get("idempotent-replayed")]),
          Array(3).fill([200, null]),
        );
        assert.equal(sent(tag), 3);
      });
    });

    describe("a name is free again", () => {
      test("after a refusal", async () => {
        const account = await host.account(10_000);
        const refused = await post(account.key, "once", chat(makeTag()));
        assert.deepEqual([refused.status, refused.code], [402, "insufficient_balance"]);
        const small = chat(makeTag(), "", {
          model: "sim-small",
          max_tokens: 1,
          messages: [{ role: "user", content: "a" }],
        });
        assert.notEqual((await post(account.key, "once", small)).code, "idempotency_mismatch");
      });

      for (const fault of ["500", "422", "503", "reset-before-headers"]) {
        test(`after the provider's ${fault}, which cost nothing`, async () => {
          const account = await host.account(USD);
          const tag = makeTag();
          const failed = await post(account.key, "once", chat(tag, `[[fault=${fault}]]`));
          assert.ok(failed.status >= 400);
          const again = await post(account.key, "once", chat(tag));
          assert.equal(again.status, 200, again.text);
          assert.equal((await paid(account)).requests, 1);
        });
      }
    });

    test("a name that is none is refused by its name, and nothing is charged", async () => {
      const account = await host.account(USD);
      for (const name of ["", "a".repeat(256), "caf\u00e9"]) {
        const { status, code, text } = await post(account.key, name, chat(makeTag()));
        assert.deepEqual([status, code], [400, "invalid_request"], name);
        assert.match(text, /"param":"Idempotency-Key"/);
      }
      assert.equal((await post(account.key, "a".repeat(255), chat(makeTag()))).status, 200);
    });

    test("without the header nothing is claimed or kept, and with it the answer lies sealed", async () => {
      const account = await host.account(USD);
      const partition = accountPartition(account.address);
      const free = await post(account.key, null, chat(makeTag()));
      assert.equal(await host.keyValue.get(`answer:${free.headers.get("x-request-id")}`), null);
      assert.deepEqual(await host.rows("claim", partition), []);
      const named = await post(account.key, "secret name", chat(makeTag()));
      const kept = (await host.keyValue.get(`answer:${named.headers.get("x-request-id")}`)) ?? "";
      const { choices } = JSON.parse(named.text) as { choices: { message: { content: string } }[] };
      const content = choices[0]?.message.content ?? "";
      assert.ok(content.length > 10 && kept.length > 100);
      assert.ok(!Buffer.from(kept, "base64").toString("latin1").includes(content.slice(0, 10)));
      const claims = await host.rows("claim", partition);
      assert.equal(claims.length, 1);
      assert.ok(!JSON.stringify(claims).includes("secret name"));
    });

    test("a claim is forgotten once nothing can ask for it", async () => {
      const account = await host.account(USD);
      const partition = accountPartition(account.address);
      await post(account.key, "once", chat(makeTag()));
      await host.goTo(host.now() + 3 * DAY - MINUTE);
      await host.forget([partition]);
      assert.equal((await host.rows("claim", partition)).length, 1);
      await host.goTo(host.now() + DAY + 2 * MINUTE);
      await host.forget([partition]);
      assert.deepEqual(await host.rows("claim", partition), []);
    });
  });
}
