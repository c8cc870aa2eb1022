import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { TestAccount } from "../fund.ts";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";

const USD = 1_000_000_000;

/** The requests and answers of clients that were made for other APIs. */
export function testOtherClients(start: StartHost): void {
  describe("a client of another API", () => {
    const host = hostFor(start);
    let account: TestAccount;
    before(async () => {
      account = await host.account(USD);
    });

    const chat = { model: "sim-small", messages: [{ role: "user", content: "hello" }], max_tokens: 10 };

    test("may send its key as x-api-key; a bearer token goes before it", async () => {
      const status = async (headers: Record<string, string>): Promise<number> =>
        (await host.call("/v1/chat/completions", { body: chat, headers })).status;
      assert.equal(await status({ "x-api-key": account.key }), 200);
      assert.equal(await status({ "x-api-key": "nonsense" }), 401);
      assert.equal(await status({ "x-api-key": "nonsense", authorization: `Bearer ${account.key}` }), 200);
      assert.equal(await status({ "x-api-key": account.key, authorization: "Bearer nonsense" }), 401);
      const own = await host.call("/api/v1/key", { headers: { "x-api-key": account.key } });
      assert.equal(own.status, 200);
      const signOut = await host.call("/auth", { method: "DELETE", headers: { "x-api-key": account.key } });
      assert.equal(signOut.status, 403, "it is not a session");
    });

    test("may sign out with its session as x-api-key", async () => {
      const session = await host.openSession(`0x${"7".repeat(40)}`);
      const headers = { "x-api-key": session };
      assert.equal((await host.call("/auth", { method: "DELETE", headers })).status, 204);
      assert.equal((await host.call("/api/v1/key", { headers })).status, 401);
    });

    test("finds somebody at the root", async () => {
      for (const method of ["HEAD", "GET"]) assert.equal((await host.call("/", { method })).status, 200);
    });

    test("finds the fields of both SDKs and of Codex in the list of models", async () => {
      const list = (await (await host.call("/v1/models?limit=1000")).json()) as Record<string, unknown>;
      const data = list.data as Record<string, unknown>[];
      assert.deepEqual([list.object, list.has_more, list.models], ["list", false, undefined]);
      assert.deepEqual([list.first_id, list.last_id], [data[0]?.id, data.at(-1)?.id]);
      for (const model of data) {
        assert.equal(typeof model.display_name, "string");
        assert.ok(!Number.isNaN(Date.parse(String(model.created_at))));
      }
      const small = data.find(({ id }) => id === "sim-small");
      assert.deepEqual([small?.max_input_tokens, typeof small?.max_tokens], [small?.context_length, "number"]);
      assert.ok(JSON.stringify(small).includes('"supported_parameters":["max_tokens"'));
      const forCodex = (await (await host.call("/v1/models?client_version=0.133.0")).json()) as { models: unknown };
      assert.deepEqual(forCodex, { ...list, models: [] });
    });

    test("reads where chat is if it asks for completions", async () => {
      const { status, error } = await host
        .call("/v1/completions", { body: { model: "sim-small", prompt: "x" }, key: account.key })
        .then(async (answer) => ({
          status: answer.status,
          ...((await answer.json()) as { error: { message: string } }),
        }));
      assert.equal(status, 404);
      assert.match(error.message, /\/v1\/chat\/completions/);
    });
  });
}
