import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";
import { checkAccount, providerRecord, settledOne } from "../settlement/audit.ts";
import { makeTag } from "../settlement/pay.ts";

const USD = 1_000_000_000;
const CHAT = "/v1/chat/completions";

/** Bodies that are read in pieces: for every host. */
export function testLargeBodies(startHost: StartHost): void {
  describe("a body that is read in pieces", () => {
    const host = hostFor(startHost);

    const texts: Record<string, string> = {
      letters: "some words ",
      "letters of several bytes": "é漢👋",
      "what JSON escapes": '"\\\n\u0001\u2028',
      "half a pair": "\ud800",
    };
    for (const [name, text] of Object.entries(texts)) {
      test(`reaches the provider as it was sent, and is billed: ${name}`, async () => {
        const tag = makeTag();
        const account = await host.account(1_000 * USD);
        const messages = [
          { role: "system", content: text.repeat(Math.ceil(60_000 / Buffer.byteLength(text))) },
          { role: "user", content: `${text.repeat(500)}${tag} [[tokens=5]]` },
          { role: "user", content: `${tag} short` },
        ];
        const body = { model: "sim-small", max_tokens: 50, messages, metadata: { long: text.repeat(1_000) } };
        assert.ok(Buffer.byteLength(JSON.stringify(body)) > 64 * 1024);
        const answer = await host.call(CHAT, { key: account.key, body });
        assert.equal(answer.status, 200, await answer.clone().text());
        await answer.arrayBuffer();
        const sent = JSON.parse((await providerRecord(host, tag)).body ?? "");
        assert.deepEqual(sent.messages, messages);
        assert.equal("metadata" in sent, false);
        const settled = await settledOne(host, account.address);
        assert.equal(settled.detail.basis, "usage");
        await checkAccount(host, account.address, [settled]);
      });
    }

    test("is refused with the reason that a small one is", async () => {
      const { key } = await host.account(USD);
      const long = "x".repeat(100_000);
      const message = { role: "user", content: long };
      const cases: [body: object, code: string, param: string | null][] = [
        [{ model: "sim-small", messages: [message], unknown: long }, "unsupported_parameter", "unknown"],
        [{ model: "sim-small", messages: [{ ...message, name: long }] }, "invalid_request", "messages[0].name"],
        [{ model: "sim-small", messages: [{ ...message, role: long }] }, "invalid_request", "messages[0].role"],
        [{ model: long, messages: [message] }, "model_not_found", "model"],
        [{ messages: [message] }, "invalid_request", "model"],
      ];
      for (const [body, code, param] of cases) {
        const answer = await host.call(CHAT, { key, body });
        const text = await answer.text();
        const { error } = JSON.parse(text);
        assert.deepEqual([error.code, error.param], [code, param], text.slice(0, 300));
        assert.ok(text.length < 1_000);
      }
    });
  });
}
