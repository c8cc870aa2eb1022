import assert from "node:assert/strict";
import { test } from "node:test";
import type { LedgerClient } from "@inference/ledger/client";
import { NOW, openFixture } from "../../test/identity-fixture.ts";
import { noLimits } from "../../test/no-limits.ts";
import { UpstreamFailure } from "../environment.ts";
import type { Gateway } from "../gateway.ts";
import { nothingReported } from "../pricing/usage.ts";
import { Call } from "./call.ts";
import { conclude } from "./conclusion.ts";
import { failureEnding } from "./failure.ts";
import type { InferenceRequest } from "./request.ts";
import type { WrittenOrder } from "./requests/order.ts";

const MODEL = "text-1";
const nothing = { kind: "nothing", why: "a test", ...nothingReported, mayBill: null } as const;
const order = {
  upstreamPath: "/chat/completions",
  upstreamBody: "{}",
  model: { id: MODEL },
  stream: false,
  quote: {
    maxNanoUsd: 5,
    snapshotId: "prices",
    flatNanoUsd: null,
    chargeForPrompt: () => 1,
    chargeForDelivered: () => 0,
  },
} as unknown as WrittenOrder;

/** A gateway with one turn at each model, whose ledger answers so. */
function open(answer: () => unknown): { gateway: Gateway; admit(id?: string): Promise<Call> } {
  const { gateway } = openFixture({ operator: { ...noLimits, queue: { atOnce: 1, waiting: 1, waitMs: 1_000 } } });
  gateway.environment.ledger = { run: async () => answer(), reserve: async () => answer() } as unknown as LedgerClient;
  return {
    gateway,
    async admit(id = "req_1") {
      const call = await Call.admit(gateway, requestOf(id), order, null);
      assert.ok(call instanceof Call);
      return call;
    },
  };
}

/** Whether the model's only turn is taken. */
function isFull({ queue }: Gateway): boolean {
  const hadRoom = queue.tryEnter(MODEL) === true;
  if (hadRoom) queue.leave(MODEL);
  return !hadRoom;
}

function requestOf(id: string): InferenceRequest {
  const payer = { kind: "key", digest: "d", keyId: "k" };
  const credential = { partition: `account:0x${"1".repeat(40)}`, payer };
  const route = { name: "chat", passesThrough: false };
  return { id, at: NOW, route, credential, clientGone: null } as unknown as InferenceRequest;
}

test("an admitted request has its turn and is live until it ends, and ends once", async () => {
  let answer = { status: "reserved" };
  const { gateway, admit } = open(() => answer);
  const call = await admit();
  assert.ok(isFull(gateway) && gateway.live.has(call.id));
  answer = { status: "released" };
  assert.equal(await call.end(nothing).whenDurable(), true);
  call.close();
  assert.ok(!isFull(gateway) && !gateway.live.has(call.id));
  answer = { status: "reserved" };
  const next = await admit("req_2");
  call.end(nothing);
  assert.ok(isFull(gateway), "the turn is another's by now");
  next.close();
});

test("a request that is not admitted gives its turn back", async () => {
  const answers = [
    () => ({ status: "unauthenticated", fault: "unknown" }),
    () => ({ status: "clock_skew" }),
    () => {
      throw new Error("no ledger");
    },
  ];
  for (const answer of answers) {
    const { gateway, admit } = open(answer);
    await assert.rejects(admit());
    assert.ok(!isFull(gateway) && gateway.live.size === 0);
  }
  const { gateway } = open(() => ({ status: "claimed", by: "req_0", state: "in_progress" }));
  assert.ok("claimed" in (await Call.admit(gateway, requestOf("req_1"), order, null)));
  assert.ok(!isFull(gateway) && gateway.live.size === 0);
});

test("a request whose end was lost is not live, and its turn is given back", async () => {
  let answer = { status: "reserved" };
  const { gateway, admit } = open(() => answer);
  const call = await admit();
  answer = { status: "unknown" };
  assert.equal(await call.end(nothing).whenDurable(), false);
  assert.ok(!isFull(gateway) && gateway.live.size === 0);
  call.close();
});

test("the body is kept until the provider has it, and the order is left as it was", async () => {
  const { gateway, admit } = open(() => ({ status: "reserved" }));
  const call = await admit();
  const sent: unknown[] = [];
  let fails = true;
  gateway.provider.infer = async ({ body }) => {
    sent.push(body);
    if (fails) throw new UpstreamFailure("not_sent", "no connection");
    return { status: 200, header: () => null, body: (async function* () {})() };
  };
  await assert.rejects(call.send(), UpstreamFailure);
  fails = false;
  await call.send();
  assert.deepEqual(sent, ["{}", "{}"]);
  assert.equal(order.upstreamBody, "{}");
  assert.ok(!("upstreamBody" in call.order));
  call.close();
});

test("the provider's id of an answer is the first that repeats no key of ours, cut to what an id has", async () => {
  const { gateway, admit } = open(() => ({ status: "reserved" }));
  const call = await admit();
  call.noteUpstreamId(null);
  call.noteUpstreamId(`id-of-${gateway.config.upstream.apiKey}`);
  assert.equal(call.upstreamId, null);
  call.noteUpstreamId("x".repeat(300));
  call.noteUpstreamId("another");
  assert.equal(call.upstreamId, "x".repeat(200));
  call.close();
});

test("a request that was given up before the protocol sent it is not charged", async () => {
  let answer: object = { status: "reserved", server: { agent: "0xa", offer: "h" } };
  const { gateway, admit } = open(() => answer);
  gateway.openOffers.choose = () => [{ agent: "0xa", offer: "h", upstreamKey: "agent key", leftNanoUsd: 5 } as never];
  const call = await admit();
  gateway.provider.infer = async (_, key, signal) => {
    // As the transport of a Worker, whose `fetch` does not say whether bytes were sent.
    if (signal.aborted) throw new UpstreamFailure("sent", "AbortError");
    assert.equal(key, "agent key");
    return { status: 401, header: () => null, body: (async function* () {})() };
  };
  assert.equal((await call.send()).status, 401);
  answer = { status: "reassigned" };
  // Its client has left, or its time is over, while the ledger writes down that the protocol serves it.
  call.abort();
  await call.reassign();
  const error = await call.send().catch((caught: unknown) => caught);
  const ending = failureEnding(error, call, requestOf(call.id));
  assert.equal(conclude(order.quote, ending).chargeNanoUsd, 0, "nobody served it");
  call.close();
});

test("an agent whose failure opens the model's circuit does not keep the protocol from serving the request", async () => {
  const { gateway } = openFixture({ operator: { ...noLimits, breaker: { failures: 1, openMs: 5_000 } } });
  let answer: object = { status: "reserved", server: { agent: "0xa", offer: "h" } };
  gateway.environment.ledger = { run: async () => answer, reserve: async () => answer } as unknown as LedgerClient;
  gateway.openOffers.choose = () => [{ agent: "0xa", offer: "h", upstreamKey: "agent key", leftNanoUsd: 5 } as never];
  const call = await Call.admit(gateway, requestOf("req_1"), order, null);
  assert.ok(call instanceof Call);
  gateway.provider.infer = async (_, key) => ({
    ...{ status: key === "agent key" ? 503 : 200, header: () => null },
    body: (async function* () {})(),
  });
  assert.equal((await call.send()).status, 503);
  answer = { status: "reassigned" };
  await call.reassign();
  assert.equal((await call.send()).status, 200);
  call.close();
});
