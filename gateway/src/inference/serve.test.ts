import assert from "node:assert/strict";
import { test } from "node:test";
import type { LedgerClient } from "@inference/ledger/client";
import { GatewayError } from "@inference/protocol/errors";
import { DAY_MS } from "@inference/protocol/window";
import { NOW, openFixture } from "../../test/identity-fixture.ts";
import type { CallResult, RequestSpan } from "../tracing.ts";
import type { InferenceRequest } from "./request.ts";
import type { ChatOrder } from "./requests/order.ts";
import { serveInference } from "./serve.ts";

const price = { kind: "text", rates: { input: 1_000_000_000n, output: 0n } } as const;
const order: ChatOrder = {
  upstreamPath: "/chat/completions",
  upstreamBody: Buffer.from("{}"),
  model: { id: "text-1", created: 0, ownedBy: "", price, contextTokens: null, maxOutputTokens: null, features: {} },
  stream: false,
  includeUsage: false,
  ignored: [],
  terms: {
    ...{ kind: "text", snapshotId: "prices", price, promptTokens: 5 },
    ...{ choices: 1, maxTokens: 1, modelMaxTokens: 1 },
  },
};

const twoModels: ChatOrder = { ...order, fallback: { ...order, model: { ...order.model, id: "text-2" } } };

function requestOf(parsed: ChatOrder, span: RequestSpan): InferenceRequest {
  const payer = { kind: "key", digest: "d", keyId: "k" };
  const credential = { partition: `account:0x${"1".repeat(40)}`, payer };
  const parse = () => parsed;
  const route = { name: "chat", passesThrough: false, parse };
  const readBody = async () => [Buffer.from("{}")];
  const rest = { held: { keep() {} }, clientGone: null, idempotencyKey: null, paid: null, readBody };
  const trace = { parent: null, span };
  return { id: "req_1", at: NOW, route, credential, trace, ...rest } as unknown as InferenceRequest;
}

/**
 * The keys that a request is sent with which an agent is to serve, and the steps of the ledger after its hold.
 *
 * @param statusOf The provider's answer.
 */
async function keysOf({
  admittedAfterMs = 0,
  parsed = order,
  statusOf = (_key: string): number => 400,
} = {}): Promise<{ keys: string[]; steps: string[] }> {
  const { gateway, time } = openFixture();
  await gateway.prices.refresh();
  const steps: string[] = [];
  gateway.environment.ledger = {
    async run(saga: () => Generator<{ command: { type: string } }>) {
      const { type } = saga().next().value.command;
      if (type === "reserve") {
        time.now += admittedAfterMs;
        return { status: "reserved", server: { agent: "0xa", offer: "h" } };
      }
      steps.push(type);
      return { status: type === "reassign" ? "reassigned" : "released" };
    },
  } as unknown as LedgerClient;
  gateway.openOffers.choose = () => [{ agent: "0xa", offer: "h", upstreamKey: "agent key", leftNanoUsd: 5 } as never];
  const keys: string[] = [];
  gateway.provider.infer = async (_, key) => {
    keys.push(key);
    return { status: statusOf(key), header: () => null, body: (async function* () {})() };
  };
  const errors: (string | null)[] = [];
  const context = { traceparent: "", tracestate: null };
  const span = { answered() {}, call: () => ({ context, end: ({ error }: CallResult) => void errors.push(error) }) };
  await assert.rejects(serveInference(gateway, requestOf(parsed, span)), GatewayError);
  assert.deepEqual(errors, keys.map(statusOf).map(String), "each try has a span that ended");
  return { keys, steps };
}

test("an agent serves a request on the day of its hold only: after midnight the protocol does", async () => {
  assert.deepEqual(await keysOf(), { keys: ["agent key"], steps: ["release"] });
  const sameDay = DAY_MS / 2 - 1;
  assert.deepEqual((await keysOf({ admittedAfterMs: sameDay })).keys, ["agent key"]);
  assert.deepEqual(await keysOf({ admittedAfterMs: sameDay + 1 }), {
    keys: ["provider-key"],
    steps: ["reassign", "release"],
  });
});

test("an agent's failed key is followed by the protocol's, and a failed model by the next, under one hold", async () => {
  const [agents, protocols] = ["agent key", "provider-key"];
  // The key may be the cause, so the protocol tries the model before the next one is tried.
  assert.deepEqual(await keysOf({ parsed: twoModels, statusOf: () => 503 }), {
    keys: [agents, protocols, protocols],
    steps: ["reassign", "release"],
  });
  // A model that is gone is so for every key. The agent serves the next one.
  assert.deepEqual(await keysOf({ parsed: twoModels, statusOf: () => 404 }), {
    keys: [agents, agents],
    steps: ["release"],
  });
  assert.deepEqual((await keysOf({ parsed: twoModels })).keys, [agents]);
});
