import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { StartHost } from "../host.ts";
import { hostWithStub } from "../host-for.ts";
import { settledOne } from "./audit.ts";
import { SMALL, USD } from "./pay.ts";

const head = { id: "answer-1", created: 1_760_000_000, model: "sim-small" };
const event = (data: unknown): string => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
const chunk = (...choices: object[]): string => event({ ...head, object: "chat.completion.chunk", choices });
const usage = { prompt_tokens: 40, completion_tokens: 900, total_tokens: 940 };
const USAGE_NANO_USD = 40 * SMALL.promptNanoUsd + 900 * SMALL.completionNanoUsd;
const USAGE = event({ ...head, object: "chat.completion.chunk", choices: [], usage });
const DONE = event("[DONE]");
const MAX_TOKENS = 1_000;

const messages = [{ role: "user", content: "x" }];
const apis = {
  Responses: {
    path: "/v1/responses",
    body: { model: "sim-small", input: "x", max_output_tokens: MAX_TOKENS },
    failed: /^event: response\.failed$/m,
  },
  Messages: {
    path: "/v1/messages",
    body: { model: "sim-small", messages, max_tokens: MAX_TOKENS },
    failed: /^event: error$/m,
  },
} as const;

const image = { type: "image_url", image_url: { url: "data:image/png;base64,QUJD" } };
/** A second choice beside the first, or additional members of a message. */
const unwritable: Record<string, { message: object } | { second: object }> = {
  "an image": { message: { images: [image] } },
  audio: { message: { audio: { data: "QUJD" } } },
  "a custom tool's call": { message: { tool_calls: [{ index: 0, id: "a", custom: { name: "n", input: "in" } }] } },
  "a second choice": { second: { content: "b" } },
};

/** Content that other APIs have in another shape than chat, or not at all: for every host. */
export function testOddContent(startHost: StartHost): void {
  describe("in an answer of another API, what is charged is what is written", () => {
    const { host, provider } = hostWithStub(startHost);

    async function answered(api: keyof typeof apis, said: string | ((key: string) => string[])) {
      const stream = typeof said !== "string" || said.startsWith("data:");
      const type = stream ? "text/event-stream" : "application/json";
      async function* made({ key }: { key: string }) {
        if (typeof said !== "string") yield* said(key);
      }
      let providersKey = "";
      const body = (asked: { key: string }) => {
        providersKey = asked.key;
        return made(asked);
      };
      provider.say({ headers: { "content-type": type }, body: typeof said === "string" ? said : body });
      const account = await host.account(USD);
      const { path, body: request } = apis[api];
      const response = await host.call(path, { key: account.key, body: { ...request, stream } });
      const text = await response.text();
      const { receipt, detail } = await settledOne(host, account.address);
      return { status: response.status, text, receipt, basis: detail.basis, key: providersKey };
    }

    for (const api of ["Responses", "Messages"] as const) {
      for (const [what, added] of Object.entries(unwritable)) {
        test(`a stream of ${api} with ${what} ends there with an error, and the rest is a loss`, async () => {
          const last = "message" in added ? { index: 0, delta: added.message } : { index: 1, delta: added.second };
          const stream = chunk({ index: 0, delta: { content: "before" } }) + chunk(last);
          const rest = chunk({ index: 0, delta: { content: "after" }, finish_reason: "stop" }) + USAGE + DONE;
          const { text, receipt, basis } = await answered(api, stream + rest);
          assert.match(text, apis[api].failed);
          assert.ok(text.includes("before") && !text.includes("after"), text);
          assert.equal(basis, "delivered");
          assert.ok(receipt.chargeNanoUsd > 0 && receipt.chargeNanoUsd < USAGE_NANO_USD);
          assert.equal(receipt.chargeNanoUsd + receipt.lossNanoUsd, USAGE_NANO_USD);
        });

        test(`a whole answer of ${api} with ${what} is an error that costs nothing, and a loss`, async () => {
          const first = { role: "assistant", content: "before", ...("message" in added ? added.message : {}) };
          const choices = [
            { index: 0, message: first, finish_reason: "stop" },
            ...("second" in added ? [{ index: 1, message: added.second, finish_reason: "stop" }] : []),
          ];
          const answer = JSON.stringify({ ...head, object: "chat.completion", choices, usage });
          const { status, text, receipt } = await answered(api, answer);
          assert.deepEqual([status, JSON.parse(text).error.code], [502, "upstream_error"], text);
          assert.deepEqual([receipt.chargeNanoUsd, receipt.lossNanoUsd], [0, USAGE_NANO_USD]);
        });
      }

      test(`a choice of ${api} that fails ends the answer with an error`, async () => {
        const failed = chunk({
          index: 0,
          delta: {},
          error: { message: "words of the provider" },
          finish_reason: "error",
        });
        const said = chunk({ index: 0, delta: { content: "before" } });
        for (const before of ["", said]) {
          const { text, receipt } = await answered(api, before + failed + DONE);
          assert.match(text, apis[api].failed);
          assert.ok(!text.includes("words of the provider"), text);
          assert.equal(receipt.chargeNanoUsd > 0, before !== "");
        }
      });

      test(`a finish reason of ${api} that is a name in every object is one that is not known`, async () => {
        for (const reason of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
          const said = chunk({ index: 0, delta: { content: "hello" }, finish_reason: reason }) + USAGE + DONE;
          const { text } = await answered(api, said);
          assert.match(text, api === "Responses" ? /"status":"completed","background"/ : /"stop_reason":"end_turn"/);
          const message = { role: "assistant", content: "hello" };
          const choices = [{ index: 0, message, finish_reason: reason }];
          const whole = await answered(api, JSON.stringify({ ...head, object: "chat.completion", choices, usage }));
          const { status, stop_reason } = JSON.parse(whole.text);
          assert.equal(status ?? stop_reason, api === "Responses" ? "completed" : "end_turn", whole.text);
        }
      });

      test(`a key of the provider that comes in two pieces is in no event of ${api}`, async () => {
        const deltas: Record<string, (text: string) => object> = {
          text: (content) => ({ content }),
          arguments: (text) => ({ tool_calls: [{ index: 0, function: { arguments: text } }] }),
        };
        for (const [name, delta] of Object.entries(deltas)) {
          const call = { tool_calls: [{ index: 0, id: "a", function: { name: "read", arguments: '{"a":"' } }] };
          const [before, after] = name === "arguments" ? [call, delta('"}')] : [delta("see "), delta(" there")];
          const { text, key } = await answered(api, (key) => [
            ...[before, delta(key.slice(0, 9)), delta(key.slice(9)), after].map((each) =>
              chunk({ index: 0, delta: each }),
            ),
            chunk({ index: 0, delta: {}, finish_reason: "stop" }) + USAGE + DONE,
          ]);
          assert.ok(
            key.length > 16 && text.includes(key.slice(0, 9)) === (name !== "arguments" || api === "Responses"),
          );
          assert.ok(!text.includes(key), name);
        }
      });

      test(`an unusable usage of ${api} is the estimate that is charged, and says so`, async () => {
        const said = chunk({ index: 0, delta: { content: "hello" }, finish_reason: "stop" });
        for (const [rest, estimated] of [
          [DONE, true],
          [USAGE + DONE, undefined],
        ] as const) {
          const { text, receipt } = await answered(api, said + rest);
          const last =
            text
              .trim()
              .split("\n\n")
              .findLast((block) => block.includes('"cost_nano_usd"')) ?? "";
          const told = JSON.parse(last.slice(last.indexOf("{")));
          const { cost_nano_usd: cost, estimated: mark } = told.usage ?? told.response.usage;
          assert.deepEqual([cost, mark], [receipt.chargeNanoUsd, estimated]);
        }
      });
    }
  });
}
