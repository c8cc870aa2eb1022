import assert from "node:assert/strict";
import { test } from "node:test";
import { type LedgerClient, LedgerUnavailable } from "@inference/ledger/client";
import type { Command } from "@inference/ledger/commands";
import type { Saga } from "@inference/ledger/saga";
import { GatewayError } from "@inference/protocol/errors";
import { eventually } from "@inference/protocol/testing/eventually";
import { NOW, openFixture } from "../../test/identity-fixture.ts";
import { noLimits } from "../../test/no-limits.ts";
import type { OperatorConfig } from "../config.ts";
import { UpstreamFailure } from "../environment.ts";
import type { Gateway } from "../gateway.ts";
import { makeLongAudio } from "../load/long-audio.ts";
import { ModelUnavailable } from "../load/model-unavailable.ts";
import { nothingReported } from "../pricing/usage.ts";
import { failureEnding } from "./answer/failure.ts";
import { Call } from "./call.ts";
import { conclude, type Ending } from "./charge/conclusion.ts";
import type { InferenceRequest } from "./request.ts";
import type { WrittenOrder } from "./requests/order.ts";

const MODEL = "text-1";
const nothing = { kind: "nothing", why: "a test", ...nothingReported, mayBill: null } as const;
const whole: Ending = {
  ...{ kind: "answer", as: "whole", complete: true, clientGone: false, givenUp: false },
  ...{ delivered: { bytes: 1, events: 1 }, ...nothingReported },
};
const order = {
  upstreamPath: "/chat/completions",
  upstreamBody: "{}",
  model: { id: MODEL, features: {} },
  stream: false,
  hold: { maxNanoUsd: 5 },
  quote: {
    maxNanoUsd: 5,
    snapshotId: "prices",
    flatNanoUsd: null,
    chargeForPrompt: () => 1,
    chargeForDelivered: () => 3,
  },
} as unknown as WrittenOrder;

/** A gateway without time limits, so that a test that fails leaves no timer. */
function openTimeless(operator: Partial<OperatorConfig>): Gateway {
  const { gateway } = openFixture({ operator: { ...noLimits, ...operator } });
  const { timers } = gateway.environment;
  gateway.environment.timers = { ...timers, after: () => ({ cancel: () => undefined }) };
  return gateway;
}

/** A gateway with one turn at each model, whose ledger answers so. */
function open(answer: () => unknown): { gateway: Gateway; admit(id?: string): Promise<Call> } {
  const gateway = openTimeless({ queue: { atOnce: 1, waiting: 1, waitMs: 1_000 } });
  gateway.environment.ledger = { run: async () => answer() } as unknown as LedgerClient;
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
  const turn = queue.tryEnter({ account: "another", key: "k", model: MODEL });
  assert.ok(!(turn instanceof Promise));
  turn?.leave();
  return turn === null;
}

function requestOf(id: string): InferenceRequest {
  const payer = { kind: "key", digest: "d", keyId: "k" };
  const credential = { partition: `account:0x${"1".repeat(40)}`, payer };
  const route = { name: "chat", passesThrough: false };
  const trace = { parent: null, span: null };
  return { id, at: NOW, route, credential, clientGone: null, trace } as unknown as InferenceRequest;
}

test("an admitted request has its turn and is live until it ends, and ends once", async () => {
  let answer = { status: "reserved" };
  const { gateway, admit } = open(() => answer);
  const call = await admit();
  assert.ok(isFull(gateway) && gateway.live.has(call.id));
  answer = { status: "released" };
  assert.equal(await call.end(nothing).whenDurable(), true);
  assert.ok(!isFull(gateway) && !gateway.live.has(call.id));
  answer = { status: "reserved" };
  await admit("req_2");
  call.end(nothing);
  assert.ok(isFull(gateway), "the turn is another's by now");
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
});

type Step = { command: Command; options: { untilDurable?: boolean } | undefined };

/** A ledger that writes nothing but what it is told to keep, and only once there is room. */
function fillDisk({ environment }: Gateway): { steps: Step[]; makeRoom(): void } {
  const room = Promise.withResolvers<void>();
  const steps: Step[] = [];
  async function run(saga: () => Saga<unknown>, options?: { untilDurable?: boolean }): Promise<unknown> {
    const { value } = saga().next() as { value: { command: Command } };
    steps.push({ command: value.command, options });
    if (options?.untilDurable !== true) throw new LedgerUnavailable("the disk is full");
    await room.promise;
    return { status: value.command.type === "settle" ? "settled" : "released" };
  }
  environment.ledger = { run } as unknown as LedgerClient;
  return { steps, makeRoom: room.resolve };
}

test("the charge of an answer that cannot be written before it is sent becomes a loss, as soon as there is room", async () => {
  const { gateway, admit } = open(() => ({ status: "reserved" }));
  const logged: unknown[] = [];
  gateway.environment.log = (_level, event, fields) => logged.push([event, fields?.lossNanoUsd]);
  const call = await admit();
  const { steps, makeRoom } = fillDisk(gateway);
  assert.equal(await call.end(whole, { isSent: false }).whenDurable(), false);
  assert.ok(gateway.live.has(call.id), "the sweeper leaves it alone");
  assert.deepEqual(logged, []);
  makeRoom();
  await eventually(() => !gateway.live.has(call.id));
  const [first, later] = steps.map(({ command }) => command);
  assert.ok(first?.type === "settle" && first.chargeNanoUsd === 3);
  assert.ok(later?.type === "release" && later.lossNanoUsd === 3);
  assert.match(later.detail ?? "", /the charge could not be written/);
  assert.deepEqual(logged, [["loss", 3]]);
  assert.deepEqual([gateway.metrics.counts.chargedNanoUsd, gateway.metrics.counts.lostNanoUsd], [0, 3]);
});

test("the charge of an answer that was sent is written as soon as there is room", async () => {
  const { gateway, admit } = open(() => ({ status: "reserved" }));
  const call = await admit();
  const { steps, makeRoom } = fillDisk(gateway);
  assert.equal(await call.end(whole).whenDurable(), false);
  makeRoom();
  await eventually(() => !gateway.live.has(call.id));
  for (const { command } of steps) assert.ok(command.type === "settle" && command.chargeNanoUsd === 3);
  assert.deepEqual([steps.length, gateway.metrics.counts.chargedNanoUsd], [2, 3]);
});

test("an end that the ledger refuses is not written again: the sweeper ends the hold", async () => {
  const { gateway, admit } = open(() => ({ status: "reserved" }));
  const call = await admit();
  let tries = 0;
  const run = async () => {
    tries += 1;
    return { status: "already_resolved" };
  };
  gateway.environment.ledger = { run } as unknown as LedgerClient;
  assert.equal(await call.end(whole, { isSent: false }).whenDurable(), false);
  assert.deepEqual([tries, gateway.live.size], [1, 0]);
});

test("an answer waits for its charge, however long the disk takes", async () => {
  const { gateway, admit } = open(() => ({ status: "reserved" }));
  const call = await admit();
  const written = Promise.withResolvers<{ status: string }>();
  gateway.environment.ledger = { run: () => written.promise } as unknown as LedgerClient;
  // Every time limit is over at once.
  gateway.environment.timers = {
    ...gateway.environment.timers,
    after(_ms, callback) {
      callback();
      return { cancel: () => undefined };
    },
  };
  let isDurable: boolean | undefined;
  const waited = call.end(whole, { isSent: false }).whenDurable();
  void waited.then((is) => {
    isDurable = is;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isDurable, undefined, "nothing says that it is lost, or that it is there");
  written.resolve({ status: "settled" });
  assert.equal(await waited, true);
});

test("requests that were not sent open the model's circuit, whichever account they are of; sent ones count once", async () => {
  for (const [stage, isOpen] of [
    ["not_sent", true],
    ["sent", false],
  ] as const) {
    const gateway = openTimeless({ breaker: { failures: 2, openMs: 5_000 } });
    gateway.environment.ledger = { run: async () => ({ status: "reserved" }) } as unknown as LedgerClient;
    gateway.provider.infer = async () => {
      throw new UpstreamFailure(stage, "no connection");
    };
    for (const id of ["req_1", "req_2"]) {
      const call = await Call.admit(gateway, requestOf(id), order, null);
      assert.ok(call instanceof Call);
      await assert.rejects(call.send(), UpstreamFailure);
    }
    const third = await Call.admit(gateway, requestOf("req_3"), order, null).catch((error: unknown) => error);
    assert.equal(third instanceof GatewayError, isOpen);
  }
});

test("three reports of more audio than an account's files hold refuse its transcriptions, and nothing else", async () => {
  const bound = { promptTokens: 0, completionTokens: 0, audioMs: 1 };
  const audio = { ...order, quote: { ...order.quote, bound, chargeForUsage: () => 9 } } as WrittenOrder;
  const long = { ...whole, usage: { audioMs: 9 } } as Ending;
  for (const probe of ["strict", "warn"] as const) {
    const { gateway } = open(() => ({ status: "reserved" }));
    gateway.longAudio = makeLongAudio({ upstream: { probe } }, gateway.environment);
    gateway.prices.exceededBound = () => assert.fail("the model stays in service");
    const end = async (ending: Ending, asked = audio, account = "1"): Promise<void> => {
      const request = requestOf("req_1");
      const credential = { ...request.credential, partition: `account:0x${account.repeat(40)}` } as const;
      const call = await Call.admit(gateway, { ...request, credential }, asked, null);
      assert.ok(call instanceof Call);
      call.end(ending);
    };
    for (let n = 0; n < 3; n++) await end(long);
    if (probe === "strict") await assert.rejects(end(nothing), /more audio than 3 of your files hold/);
    else await end(nothing);
    await end(nothing, order);
    await end(nothing, audio, "2");
  }
});

test("the body is kept until the provider has it, and the order is left as it was", async () => {
  const { gateway, admit } = open(() => ({ status: "reserved" }));
  const call = await admit();
  call.order = { ...call.order, fallback: order };
  const sent: unknown[] = [];
  let fails = true;
  gateway.provider.infer = async ({ body }) => {
    sent.push(body);
    if (fails) throw new UpstreamFailure("not_sent", "no connection");
    return { status: 200, header: () => null, body: (async function* () {})() };
  };
  await assert.rejects(call.send(), UpstreamFailure);
  assert.ok("fallback" in call.order);
  fails = false;
  await call.send();
  assert.ok(!("fallback" in call.order), "no stream keeps the bodies for the other models");
  assert.deepEqual(sent, ["{}", "{}"]);
  assert.equal(order.upstreamBody, "{}");
  assert.ok(!("upstreamBody" in call.order));
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
});

test("a request that was given up before the protocol sent it is not charged", async () => {
  let answer: object = { status: "reserved", server: { agent: "0xa", offer: "h" } };
  const { gateway, admit } = open(() => answer);
  gateway.openOffers.choose = () => [{ agent: "0xa", offer: "h", upstreamKey: "agent key", leftNanoUsd: 5 } as never];
  const call = await admit();
  const keys: string[] = [];
  gateway.provider.infer = async (_, key, signal) => {
    keys.push(key);
    // As the transport of a Worker, whose `fetch` does not say whether bytes were sent.
    if (signal.aborted) throw new UpstreamFailure("sent", "AbortError");
    return { status: 401, header: () => null, body: (async function* () {})() };
  };
  assert.equal((await call.send()).status, 401);
  answer = { status: "reassigned" };
  // Its client has left, or its time is over, while the ledger writes down that the protocol serves it.
  call.abort();
  await call.reassign();
  const error = await call.send().catch((caught: unknown) => caught);
  assert.deepEqual([keys, call.isAborted], [["agent key"], true]);
  const ending = failureEnding(error, call, requestOf(call.id));
  assert.equal(conclude(order.quote, ending).chargeNanoUsd, 0, "nobody served it");
});

test("a call that falls back gives its turn back, waits for the next model's, and ends once its time is over", async () => {
  const { gateway } = open(() => ({ status: "reserved" }));
  const third = { ...order, model: { id: "text-3", features: {} } } as WrittenOrder;
  const second = { ...order, model: { id: "text-2", features: {} }, fallback: third } as WrittenOrder;
  const call = await Call.admit(gateway, requestOf("req_1"), { ...order, fallback: second }, null);
  assert.ok(call instanceof Call);
  const taken = gateway.queue.tryEnter({ account: "another", key: "k", model: "text-2" });
  const failure = new ModelUnavailable("status 503", { code: "upstream_unavailable", message: "x" });
  const falling = call.fallBack(failure);
  assert.ok(!isFull(gateway), "nobody waits for a turn with a turn");
  taken?.leave();
  await falling;
  assert.deepEqual([call.order.model.id, call.order.tried], ["text-2", [{ model: MODEL, why: "status 503" }]]);
  call.abort();
  await assert.rejects(call.fallBack(failure), failure);
  assert.equal(call.order.model.id, "text-2");
});

test("an agent whose failure opens the model's circuit does not keep the protocol from serving the request", async () => {
  const gateway = openTimeless({ breaker: { failures: 1, openMs: 5_000 } });
  let answer: object = { status: "reserved", server: { agent: "0xa", offer: "h" } };
  gateway.environment.ledger = { run: async () => answer } as unknown as LedgerClient;
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
});
