import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { HostUnderTest, StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";
import { settledOf } from "../settlement/audit.ts";

const USD = 1_000_000_000;
const names = ["models", "prices", "quote", "credits", "spending", "receipt", "verify", "chat"];
const hello = { model: "sim-small", max_tokens: 50, messages: [{ role: "user", content: "Hello" }] };

type ApiError = { error: { code: string; message: string } };

/** The MCP server with the protocol's official client. */
export function testMcp(start: StartHost): void {
  describe("the MCP server", () => {
    const host = hostFor(start);

    async function connect(key?: string, mode: "legacy" | "auto" = "legacy"): Promise<Client> {
      const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
      const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
      await client.connect(new StreamableHTTPClientTransport(new URL(`${host.url}/mcp`), { requestInit: { headers } }));
      return client;
    }

    /** The result of a tool as JSON. */
    async function call<T>(
      client: Client,
      name: string,
      given: Record<string, unknown> = {},
      isError = false,
    ): Promise<T> {
      const { content, isError: failed = false } = await client.callTool({ name, arguments: given });
      const [{ text } = { text: "" }] = content as { text: string }[];
      assert.equal(failed, isError, text);
      return JSON.parse(text) as T;
    }

    for (const mode of ["legacy", "auto"] as const) {
      test(`a chat is charged to its key, within its quote and as its receipt says (${mode})`, async () => {
        const account = await host.account(USD);
        const client = await connect(account.key, mode);
        const { tools } = await client.listTools();
        assert.deepEqual(
          tools.map(({ name }) => name),
          names,
        );
        const { data: models } = await call<{ data: { id: string }[] }>(client, "models");
        assert.ok(models.some(({ id }) => id === hello.model));
        const { data: quote } = await call<{ data: Record<string, number | string> }>(client, "quote", hello);

        const { id } = await call<{ id: string }>(client, "chat", hello);
        const [settled, ...others] = await settledOf(host, account.address);
        const charge = settled?.receipt.chargeNanoUsd ?? 0;
        assert.deepEqual([settled?.detail.basis, settled?.detail.route, others], ["usage", "chat", []]);
        assert.equal(settled?.receipt.heldNanoUsd, quote.max_cost_nano_usd);
        assert.ok(charge > 0 && charge < USD);

        type Receipt = { data: { charge_nano_usd: number; id: string; price_snapshot: string } };
        const { data: receipt } = await call<Receipt>(client, "receipt", { id });
        assert.deepEqual([receipt.charge_nano_usd, receipt.price_snapshot], [charge, quote.price_snapshot]);
        const { data: credits } = await call<{ data: Record<string, number> }>(client, "credits");
        assert.equal(credits.total_usage_nano_usd, charge);
        const { data: spent } = await call<{ data: Receipt["data"][] }>(client, "spending", { limit: 5 });
        assert.deepEqual(
          spent.map((each) => [each.id, each.charge_nano_usd]),
          [[receipt.id, charge]],
        );
        const { data: verdict } = await call<{ data: { checks: { check: string; result: string }[] } }>(
          client,
          "verify",
          {
            id,
          },
        );
        assert.deepEqual(
          verdict.checks.map(({ check, result }) => `${check} ${result}`),
          ["signature pass", "statement skipped"],
        );
        assert.ok(await call(client, "prices", { snapshot: receipt.price_snapshot }));
        await client.close();
      });
    }

    test("a refusal is the tool's error in the API's words, and costs nothing", async () => {
      const poor = await host.account(0);
      const client = await connect(poor.key);
      const codeOf = async (name: string, given?: Record<string, unknown>): Promise<string> =>
        (await call<ApiError>(client, name, given, true)).error.code;
      assert.equal(await codeOf("chat", hello), "insufficient_balance");
      assert.equal(await codeOf("chat", { ...hello, stream: true }), "invalid_request");
      assert.equal(await codeOf("chat", { ...hello, model: "sim-unpriced" }), "model_not_found");
      assert.equal(await codeOf("quote", { ...hello, max_tokens: "many" }), "invalid_request");
      assert.equal(await codeOf("receipt"), "invalid_request");
      assert.equal(await codeOf("spending", { limit: [1] }), "invalid_request");
      assert.equal(await codeOf("prices", { snapshot: "../../auth/nonce" }), "invalid_request");
      await assert.rejects(client.callTool({ name: "constructor", arguments: {} }), /There is no tool of this name/);
      await client.close();
      assert.deepEqual(await settledOf(host, poor.address), []);
    });

    test("without a key the public tools answer, and the others say what to send", async () => {
      const client = await connect();
      assert.ok(await call(client, "models"));
      for (const name of ["credits", "chat"]) {
        const { error } = await call<ApiError>(client, name, name === "chat" ? hello : {}, true);
        assert.deepEqual([error.code, error.message.includes("Authorization: Bearer")], ["missing_credentials", true]);
      }
      await client.close();
    });

    test("a bad key, a batch, a stream of events and a large message without a key are refused", async () => {
      const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
      const accept = { accept: "application/json, text/event-stream" };
      const codeOf = async (init: Parameters<HostUnderTest["call"]>[1]): Promise<string> => {
        const answer = await host.call("/mcp", { headers: accept, ...init });
        return `${answer.status} ${((await answer.json()) as ApiError).error.code}`;
      };
      assert.equal(await codeOf({ body: list, key: "ik_nonsense" }), "401 invalid_api_key");
      assert.equal(await codeOf({ body: [list, list] }), "400 invalid_request");
      assert.equal(await codeOf({ method: "GET" }), "405 method_not_allowed");
      assert.equal(await codeOf({ body: { ...list, params: { x: "x".repeat(17_000) } } }), "413 request_too_large");
      const modern = await connect(undefined, "auto");
      await assert.rejects(modern.listen({ toolsListChanged: true }), /limit/i);
      await modern.close();
    });
  });
}
