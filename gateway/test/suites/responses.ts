import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { limits } from "../../src/config.ts";
import type { TestAccount } from "../fund.ts";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";

const USD = 1_000_000_000;
const CHAT = "/v1/chat/completions";
const RESPONSES = "/api/v1/responses";

type Answer = {
  status: number;
  headers: Headers;
  text: string;
};
type Event = { type: string; response?: Response; delta?: string } & Record<string, unknown>;
type Response = {
  id: string;
  status: string;
  error: { code: string; message: string } | null;
  incomplete_details: { reason: string } | null;
  output: ({ type: string } & Record<string, unknown>)[];
  usage: { input_tokens: number; output_tokens: number; cost_nano_usd: number; receipt?: string };
};

/** The Responses API, in front of the provider's chat. */
export function testResponses(start: StartHost): void {
  describe("the Responses API", () => {
    const host = hostFor(start);

    async function post(account: TestAccount, body: object, path = RESPONSES, to = host): Promise<Answer> {
      const answer = await to.call(path, { key: account.key, body: { model: "sim-small", ...body } });
      return { status: answer.status, headers: answer.headers, text: await answer.text() };
    }

    const eventsOf = ({ text }: Answer): Event[] =>
      text
        .split("\n\n")
        .filter((block) => block.startsWith("event: "))
        .map((block) => JSON.parse(block.slice(block.indexOf("data: ") + 6)));

    test("an answer has its kinds of output, why it stopped, and one usage, whole or streamed", async () => {
      const account = await host.account(USD);
      const body = { input: "Think. [[tokens=200]][[reasoning=8]]", max_output_tokens: 100 };
      const answer = await post(account, body);
      const whole = JSON.parse(answer.text) as Response;
      const streamed = eventsOf(await post(account, { ...body, stream: true })).at(-1)?.response;
      for (const { status, incomplete_details: why, output, usage } of [whole, streamed ?? assert.fail()]) {
        const { receipt: _, ...told } = usage;
        assert.deepEqual([status, why?.reason, told], ["incomplete", "max_output_tokens", whole.usage]);
        assert.deepEqual(
          output.map(({ type }) => type),
          ["reasoning", "message"],
        );
      }
      const path = `/api/v1/generation?id=${answer.headers.get("x-request-id")}`;
      const receipt = (await (await host.call(path, { key: account.key })).json()) as { data: Record<string, unknown> };
      const { route, charge_nano_usd: charge } = receipt.data;
      assert.deepEqual([route, charge], ["responses", whole.usage.cost_nano_usd]);
    });

    test("a call of a custom tool is what the client's tool is called, with its raw input", async () => {
      const account = await host.account(USD);
      const body = {
        input: "Patch it. [[tokens=5]][[finish=tool_calls]]",
        tools: [{ type: "namespace", name: "edit", tools: [{ type: "custom", name: "apply_patch" }] }],
        max_output_tokens: 100,
      };
      for (const stream of [false, true]) {
        const answer = await post(account, { ...body, stream });
        const response = stream ? eventsOf(answer).at(-1)?.response : (JSON.parse(answer.text) as Response);
        const [item] = response?.output ?? [];
        assert.deepEqual([item?.type, item?.name, item?.namespace], ["custom_tool_call", "apply_patch", "edit"]);
        assert.match(String(item?.call_id), /^call_/);
        assert.equal(typeof item?.input, "string");
      }
    });

    test("reasoning that comes back is sent to the provider as reasoning, sealed for its account only", async () => {
      const [mine, theirs] = [await host.account(USD), await host.account(USD)];
      const answer = await post(mine, { input: "Think. [[tokens=20]][[reasoning=8]]", max_output_tokens: 100 });
      const { output } = JSON.parse(answer.text) as Response;
      const [{ text: thought } = { text: "" }] = (output[0]?.summary ?? []) as { text: string }[];
      assert.ok(!String(output[0]?.encrypted_content).includes(thought.slice(1, 8)));
      const input = [{ role: "user", content: "Think." }, ...output, { role: "user", content: "More." }];
      for (const account of [mine, theirs]) {
        assert.equal((await post(account, { input, max_output_tokens: 10 })).status, 200);
        const [record] = host.simulator.simulator.records.select(({ method }) => method === "POST", 1);
        const { messages } = JSON.parse(record?.body ?? "") as { messages: { reasoning_content?: string }[] };
        assert.equal(messages[1]?.reasoning_content, account === mine ? thought : undefined);
      }
    });

    test("without a limit it has what is affordable, and less than 4,096 tokens is refused", async () => {
      const rich = await post(await host.account(100 * USD), { input: "Hi [[tokens=1]]" });
      const most = Number(rich.headers.get("x-max-output-tokens"));
      assert.equal(rich.status, 200);
      const dear = await post(await host.account(100 * USD), {
        input: "Hi",
        max_output_tokens: most,
        model: "sim-small",
      });
      assert.equal(dear.headers.get("x-max-output-tokens"), String(most));
      const poor = await host.account(1000);
      const refused = await post(poor, { input: "Hi" });
      const { error } = JSON.parse(refused.text) as { error: { code: string; param: string; metadata: object } };
      assert.deepEqual([refused.status, error.code, error.param], [402, "insufficient_balance", "max_output_tokens"]);
      assert.ok("max_affordable_tokens" in error.metadata);
      // Enough for some of the output, and not for all.
      const { needed_nano_usd: needed } = error.metadata as unknown as { needed_nano_usd: number };
      const between = await host.account(Math.floor(needed * 0.9));
      const served = await post(between, { input: "Hi [[tokens=1]]" });
      assert.equal(served.status, 200, served.text);
      const inForce = Number(served.headers.get("x-max-output-tokens"));
      assert.ok(inForce < most && inForce >= 4096, String(inForce));
    });

    test("a budget that a request in flight has taken is waited for", async () => {
      const probe = await post(await host.account(1000), { input: "Hi", max_output_tokens: 1000 });
      const { error } = JSON.parse(probe.text) as { error: { metadata: { needed_nano_usd: number } } };
      const account = await host.account(Math.floor(error.metadata.needed_nano_usd * 1.5));
      const slow = post(account, { input: "Hi [[tokens=4]][[drip=300]]", max_output_tokens: 1000, stream: true });
      await new Promise((resolve) => setTimeout(resolve, 200));
      const next = await post(account, { input: "Hi [[tokens=1]]", max_output_tokens: 1000 });
      assert.deepEqual([(await slow).status, next.status], [200, 200], next.text);
    });

    test("a budget that stays taken is 503 after the wait, which Codex shows and retries; chat has 429", async (context) => {
      // Its clock is turned on, and it looks again 20 times as often.
      const turned = await start({ fresh: true, hurry: 20 });
      const leave = new AbortController();
      context.after(async () => {
        leave.abort();
        await turned.stop();
      });
      const order = { model: "sim-small", max_output_tokens: 1000 };
      const probe = await post(await turned.account(1000), { input: "Hi", ...order }, RESPONSES, turned);
      const { error } = JSON.parse(probe.text) as { error: { metadata: { needed_nano_usd: number } } };
      const account = await turned.account(Math.floor(error.metadata.needed_nano_usd * 1.5));
      const slow = { ...order, input: "Hi [[tokens=60]][[drip=1000]]", stream: true };
      const { status } = await turned.call(RESPONSES, { key: account.key, body: slow, signal: leave.signal });
      assert.equal(status, 200);
      const chat = { messages: [{ role: "user", content: "Hi" }], max_tokens: 1000 };
      let isOver = false;
      const answers = Promise.all([
        post(account, { input: "Hi", ...order }, RESPONSES, turned),
        post(account, chat, CHAT, turned),
      ]).finally(() => {
        isOver = true;
      });
      // The steps are small, because the ledger takes no command that is a minute old.
      while (!isOver) await turned.goTo(turned.now() + limits.budgetWait.eachMs);
      const refused = await answers;
      for (const [index, answer] of refused.entries()) {
        const { error } = JSON.parse(answer.text) as { error: { code: string; type: string; message: string } };
        assert.deepEqual(
          [answer.status, error.code, error.type],
          [index === 0 ? 503 : 429, "budget_reserved", "rate_limit_error"],
        );
        assert.equal(answer.headers.get("x-should-retry"), "true");
        assert.match(answer.headers.get("retry-after") ?? "", /^[1-5]$/);
      }
    });

    test("errors are those of chat, on every status", async () => {
      const account = await host.account(USD);
      for (const [body, status, code, param] of [
        [{ input: "x", model: "nobody" }, 404, "model_not_found", "model"],
        [{ input: "x", store: true }, 400, "unsupported_parameter", "store"],
        [{ input: [{ type: "item_reference", id: "x" }] }, 400, "unsupported_parameter", "input[0].type"],
      ] as const) {
        const answer = await post(account, body);
        const { error } = JSON.parse(answer.text) as { error: { code: string; param: string } };
        assert.deepEqual([answer.status, error.code, error.param], [status, code, param]);
      }
      assert.equal((await host.balance(account.address)).settledNanoUsd, 0);
    });

    test("a chat body with input is answered as chat", async () => {
      const account = await host.account(USD);
      const answer = await post(account, { input: "Hi [[tokens=2]]", max_output_tokens: 10 }, CHAT);
      const body = JSON.parse(answer.text) as { object: string; choices: object[] };
      assert.deepEqual([body.object, body.choices.length], ["chat.completion", 1]);
    });

    test("a repeated request with an Idempotency-Key is answered with the same response", async () => {
      const account = await host.account(USD);
      const body = { model: "sim-small", input: "Hi [[tokens=2]]", max_output_tokens: 10 };
      const send = () =>
        host.call(RESPONSES, { key: account.key, body, headers: { "idempotency-key": "once" } }).then((a) => a.text());
      const first = await send();
      assert.equal((JSON.parse(first) as Response).status, "completed");
      assert.equal(await send(), first);
    });
  });
}
