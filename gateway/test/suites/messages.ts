import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestAccount } from "../fund.ts";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";

const USD = 1_000_000_000;
const MESSAGES = "/v1/messages";

type Message = {
  id: string;
  content: ({ type: string } & Record<string, unknown>)[];
  stop_reason: string;
  usage: {
    input_tokens: number;
    output_tokens: number;
    cache_read_input_tokens: number;
    cost_nano_usd: number;
    receipt?: string;
  };
};
type Failed = { type: string; error: { type: string; code: string; message: string }; request_id: string };

/** The Messages API, in front of the provider's chat. */
export function testMessages(start: StartHost): void {
  describe("the Messages API", () => {
    const host = hostFor(start);

    function post(account: TestAccount, body: object, path = MESSAGES): Promise<Response> {
      const headers = { "x-api-key": account.key, "anthropic-version": "2023-06-01", "anthropic-beta": "some-beta" };
      return host.call(path, { headers, body: { model: "sim-small", max_tokens: 100, ...body } });
    }
    const ask = (content: string, more: object = {}) => ({ messages: [{ role: "user", content }], ...more });

    /** The events of a stream, and the message that they say. */
    async function eventsOf(answer: Response): Promise<Record<string, unknown>[]> {
      const blocks = (await answer.text()).split("\n\n").filter((block) => block.startsWith("event: "));
      return blocks.map((block) => JSON.parse(block.slice(block.indexOf("data: ") + 6)));
    }

    test("an answer has its kinds of content, why it stopped, and one usage, whole or streamed", async () => {
      const account = await host.account(USD);
      const body = ask("Think. [[tokens=200]][[reasoning=8]][[cached=5]]");
      const answer = await post(account, body, `${MESSAGES}?beta=true`);
      assert.equal(answer.headers.get("request-id"), answer.headers.get("x-request-id"));
      const { content, stop_reason, usage } = (await answer.json()) as Message;
      const kinds = content.map(({ type }) => type);
      assert.deepEqual([kinds, stop_reason, usage.cache_read_input_tokens], [["thinking", "text"], "max_tokens", 5]);
      const events = await eventsOf(await post(account, { ...body, stream: true }));
      const last = events.find(({ type }) => type === "message_delta") as Pick<Message, "usage"> & {
        delta: { stop_reason: string };
      };
      const { receipt: _, ...told } = last.usage;
      assert.deepEqual([told, last.delta.stop_reason], [usage, stop_reason]);
    });

    test("thinking that comes back is sent to the provider as reasoning", async () => {
      const account = await host.account(USD);
      const { content } = (await (await post(account, ask("Think. [[tokens=20]][[reasoning=8]]"))).json()) as Message;
      const messages = [
        { role: "user", content: "Think." },
        { role: "assistant", content },
        { role: "user", content: "So?" },
      ];
      assert.equal((await post(account, { messages, max_tokens: 5 })).status, 200);
      const [record] = host.simulator.simulator.records.select(({ method }) => method === "POST", 1);
      const said = JSON.parse(record?.body ?? "") as { messages: { reasoning_content?: unknown }[] };
      assert.equal(said.messages[1]?.reasoning_content, content[0]?.thinking);
    });

    test("a call of a tool has its input as an object", async () => {
      const account = await host.account(USD);
      const tools = [{ name: "write", input_schema: { type: "object" } }];
      const body = ask("Write. [[tokens=5]][[finish=tool_calls]]", { tools });
      const message = (await (await post(account, body)).json()) as Message;
      assert.equal(message.stop_reason, "tool_use");
      const [call] = message.content;
      assert.deepEqual([call?.type, call?.name, typeof call?.input], ["tool_use", "write", "object"]);
    });

    test("errors are that API's, on every status, with our code in them", async () => {
      const account = await host.account(USD);
      const poor = await host.account(10);
      const errors: [Promise<Response>, number, string, string][] = [
        [post(account, ask("x", { model: "nobody" })), 404, "not_found_error", "model_not_found"],
        [post(account, { messages: [] }), 400, "invalid_request_error", "invalid_request"],
        [post(poor, ask("x")), 402, "billing_error", "insufficient_balance"],
        [post({ ...account, key: "wrong" }, ask("x")), 401, "authentication_error", "invalid_api_key"],
        [
          post(account, ask("x", { model: "nobody" }), "/v1/messages/count_tokens"),
          404,
          "not_found_error",
          "model_not_found",
        ],
        [host.call(MESSAGES, {}), 405, "invalid_request_error", "method_not_allowed"],
      ];
      for (const [sent, status, type, code] of errors) {
        const answer = await sent;
        const body = (await answer.json()) as Failed;
        assert.deepEqual([answer.status, body.type, body.error.type, body.error.code], [status, "error", type, code]);
        assert.equal(body.request_id, answer.headers.get("x-request-id"));
        assert.equal(answer.headers.get("request-id"), body.request_id);
      }
    });

    test("tokens are counted free of charge, without max_tokens", async () => {
      const account = await host.account(1);
      const count = async (text: string): Promise<number> => {
        const body = { model: "sim-small", messages: [{ role: "user", content: text }], system: "s" };
        const answer = await host.call("/api/v1/messages/count_tokens?beta=true", { key: account.key, body });
        assert.equal(answer.status, 200);
        return ((await answer.json()) as { input_tokens: number }).input_tokens;
      };
      const few = await count("Hi");
      assert.ok((await count("word ".repeat(20_000))) > few + 20_000);
      assert.equal((await host.balance(account.address)).settledNanoUsd, 0);
      const answer = await host.call("/v1/messages/count_tokens", { body: ask("x") });
      assert.equal(answer.status, 401);
    });
  });
}
