import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { accountPartition } from "@inference/ledger/partition";
import type { KeyLimit } from "@inference/protocol/key-limit";
import { MINUTE_MS } from "@inference/protocol/window";
import { assertError, type WireError } from "../assert-error.ts";
import type { KeyTerms, TestAccount } from "../fund.ts";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";
import { sendHttp, type WireAnswer } from "../http-client.ts";
import { providerRecords, settledOf } from "../settlement/audit.ts";

/** The terms of a key beside its limit in dollars: requests and tokens of a minute, models, privacy. */
const USD = 1_000_000_000;
const MAX_TOKENS = 100;

function bodyOf(tag: string, more: object = {}): object {
  return { model: "sim-small", messages: [{ role: "user", content: tag }], max_tokens: MAX_TOKENS, ...more };
}

export function testKeyTerms(start: StartHost): void {
  describe("a key's terms", () => {
    const host = hostFor(start);

    function ask({ key }: Pick<TestAccount, "key">, body: object, path = "/v1/chat/completions"): Promise<WireAnswer> {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      return sendHttp(host.url, { path, body: JSON.stringify(body), headers });
    }
    const withTerms = (terms: KeyTerms): Promise<TestAccount> => host.account(100 * USD, terms);
    const perMinute = (unit: "requests" | "tokens", most: number): KeyLimit => ({ unit, window: "minute", most });

    test("hold under 64 requests at once: no minute has more requests than the key may send", async () => {
      const account = await withTerms({ limits: [perMinute("requests", 5)] });
      const answers = await Promise.all(Array.from({ length: 64 }, () => ask(account, bodyOf("rush"))));
      const served = answers.filter(({ status }) => status === 200).length;
      for (const answer of answers) {
        if (answer.status === 200) continue;
        const { error } = JSON.parse(answer.text) as { error: WireError };
        const { limit, most } = error.metadata ?? {};
        assert.deepEqual([answer.status, error.code, limit, most], [429, "rate_limited", "requests_per_minute", 5]);
      }
      const receipts = await settledOf(host, account.address);
      const minutes = Map.groupBy(receipts, ({ receipt }) => Math.floor(receipt.admittedAt / MINUTE_MS));
      for (const [, sent] of minutes) assert.ok(sent.length <= 5);
      assert.equal(receipts.length, served);
      assert.equal(providerRecords(host, "rush").length, served);
      assert.ok(served >= 5);
      await host.goTo((Math.floor(host.now() / MINUTE_MS) + 1) * MINUTE_MS);
      assert.equal((await ask(account, bodyOf("rush"))).status, 200, "the next minute has its own");
    });

    test("hold a request's most tokens, and count the used ones", async () => {
      await host.goTo((Math.floor(host.now() / MINUTE_MS) + 1) * MINUTE_MS);
      const account = await withTerms({ limits: [perMinute("tokens", 1_000)] });
      const { metadata } = assertError(
        await ask(account, bodyOf("wide", { max_tokens: 2_000 })),
        402,
        "key_limit_exceeded",
      );
      const fitting = Number(metadata?.max_affordable_tokens);
      assert.ok(fitting > 0 && fitting < 1_000);
      const answer = await ask(account, bodyOf("wide", { max_tokens: fitting }));
      assert.equal(answer.status, 200, answer.text);
      const { usage } = JSON.parse(answer.text) as { usage: { total_tokens: number } };
      const view = await host.read(accountPartition(account.address), {
        type: "key",
        at: host.now(),
        keyId: account.keyId,
      });
      const used = view?.limits.find(({ limit }) => limit.unit === "tokens");
      // A minute that ended meanwhile has none.
      assert.ok(used?.used === usage.total_tokens || used?.used === 0);
      assert.equal(used.held, 0);
    });

    test("allow models by id and by prefix, on every route", async () => {
      const account = await withTerms({ models: ["sim-small", "sim-emb*"] });
      assert.equal((await ask(account, bodyOf("mine"))).status, 200);
      assert.equal((await ask(account, { model: "sim-embedding", input: "x" }, "/v1/embeddings")).status, 200);
      const others: [string, object][] = [
        ["/v1/images/generations", { model: "sim-image", prompt: "x" }],
        ["/api/v1/audio/speech", { model: "sim-speech", input: "x" }],
      ];
      for (const [path, body] of others) {
        const { message, param } = assertError(await ask(account, body, path), 403, "model_not_allowed");
        assert.equal(param, "model");
        assert.match(message, /may use `sim-small`, `sim-emb\*` only/);
      }
    });

    test("allow each model of a request, its fallbacks too", async () => {
      const account = await withTerms({ models: ["sim-small", "sim-noisy"] });
      assert.equal((await ask(account, bodyOf("both", { models: ["sim-noisy"] }))).status, 200);
      const answer = await ask(account, bodyOf("one of both", { models: ["sim-noisy", "sim-large"] }));
      assert.match(assertError(answer, 403, "model_not_allowed").message, /may not use `sim-large`/);
      assert.deepEqual(providerRecords(host, "one of both"), []);
    });

    test("allow private models alone, if they say so", async () => {
      const account = await withTerms({ isPrivate: true });
      assert.equal((await ask(account, bodyOf("secret"))).status, 200);
      const answer = await ask(account, bodyOf("secret", { model: "sim-fine" }));
      const { message } = assertError(answer, 403, "model_not_allowed");
      assert.match(message, /`sim-fine`.*`privacy`/);
    });
  });
}
