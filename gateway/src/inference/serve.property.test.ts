import assert from "node:assert/strict";
import { test } from "node:test";
import { accountPartition, type Partition } from "@inference/ledger/partition";
import type { ReceiptRow } from "@inference/ledger/tables";
import { hear } from "@inference/ledger/testing/example";
import { runs } from "@inference/protocol/testing/seed";
import fc from "fast-check";
import { BASE_URL, type Fixture, makeWallet, NOW, openFixture, type Wallet } from "../../test/identity-fixture.ts";
import { noLimits } from "../../test/no-limits.ts";
import { makeApp } from "../app.ts";
import type { OperatorConfig } from "../config.ts";
import { UpstreamFailure, type UpstreamRequest, type UpstreamResponse } from "../environment.ts";
import { quoteText } from "../pricing/quote.ts";
import type { ReceiptDetail } from "./charge/receipt.ts";

const USD = 1_000_000_000;
const USAGE = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };
/** Ids of one length, so that their bodies have one length too. The last is the most expensive. */
const models = ["one", "two", "six", "ten"] as const;
type ModelId = (typeof models)[number];
const usdPerMillion: Record<ModelId, number> = { one: 1, two: 5, six: 2, ten: 9 };
const pricesFile = JSON.stringify({
  models: models.map((id) => ({
    ...{ id, type: "text", context_tokens: 100_000 },
    usd_per_million_tokens: { input: String(usdPerMillion[id]), output: String(usdPerMillion[id]) },
  })),
});

/** The provider's behaviour for a model. */
const passedOver = ["429", "500", "502", "503", "504", "404", "401-model", "not reached"] as const;
const final = ["200", "400", "413", "401", "402", "blocked", "broken", "no JSON"] as const;
type Outcome = (typeof passedOver)[number] | (typeof final)[number];
const isPassedOver = (outcome: Outcome): boolean => (passedOver as readonly string[]).includes(outcome);
const texts: Partial<Record<Outcome, string>> = {
  "401-model": '{"error":{"code":"model_not_available","message":"This model is for Pro users only."}}',
  blocked: '{"error":{"message":"Too many failed attempts"}}',
};

type Customer = Fixture & {
  wallet: Wallet;
  account: Partition;
  key: string;
  sent: ModelId[];
  done(): Promise<void>;
};
type Provider = (model: ModelId, request: UpstreamRequest) => UpstreamResponse;

/** A customer of a gateway whose provider answers so. */
async function open(provider: Provider, operator: Partial<OperatorConfig> = {}, credit = USD): Promise<Customer> {
  const { upstream } = openFixture().gateway.config;
  const aliases = { ours: ["one", "ten"] };
  const fixture = openFixture({
    upstream: { ...upstream, pricesFile, aliases },
    operator: { ...noLimits, ...operator },
  });
  const { environment, prices } = fixture.gateway;
  const work: Promise<unknown>[] = [];
  environment.background = (one) => void work.push(one);
  await prices.refresh();
  const sent: ModelId[] = [];
  environment.upstream.send = async (request) => {
    // The check of a doubted key has no model.
    const { model } = JSON.parse(Buffer.from(request.body ?? "").toString()) as { model?: ModelId };
    if (model === undefined) return answerOf("400", false);
    sent.push(model);
    return provider(model, request);
  };
  fixture.ledger.apply("ceiling", { type: "setCeiling", limitNanoUsd: 50 * USD });
  const wallet = makeWallet();
  const account = accountPartition(wallet.address);
  fixture.ledger.apply(account, hear(credit, { at: NOW }));
  const { key } = await fixture.makeKey(wallet);
  async function done(): Promise<void> {
    for (let one = work.shift(); one !== undefined; one = work.shift()) await one;
  }
  return { ...fixture, wallet, account, key, sent, done };
}

function answerOf(outcome: Outcome, stream: boolean): UpstreamResponse {
  if (outcome === "not reached") throw new UpstreamFailure("not_sent", "no connection");
  if (outcome === "broken") throw new UpstreamFailure("sent", "the connection was closed");
  const whole = {
    id: "a",
    choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
  };
  const events = [
    { id: "a", choices: [{ index: 0, delta: { content: "hi" }, finish_reason: "stop" }] },
    { id: "a", choices: [], usage: USAGE },
  ];
  const told = stream
    ? `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`
    : JSON.stringify({ ...whole, usage: USAGE });
  const text = outcome === "200" ? told : outcome === "no JSON" ? "<html>" : (texts[outcome] ?? "{}");
  const type = stream && outcome === "200" ? "text/event-stream" : "application/json";
  const status = outcome === "no JSON" ? 200 : outcome === "blocked" ? 429 : Number(outcome.slice(0, 3));
  return {
    status,
    header: (name) => (name.toLowerCase() === "content-type" ? type : null),
    body: (async function* () {
      yield Buffer.from(text);
    })(),
  };
}

type Ask = { stream?: boolean; headers?: Record<string, string>; signal?: AbortSignal };

async function ask({ gateway, key }: Customer, fields: object, { stream = false, headers, signal }: Ask = {}) {
  const messages = [{ role: "user", content: "hello" }];
  return makeApp(gateway).fetch(
    new Request(`${BASE_URL}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key}`, ...headers },
      body: JSON.stringify({ max_tokens: 10, stream, messages, ...fields }),
      ...(signal === undefined ? {} : { signal }),
    }),
  );
}

function receiptsOf({ ledger, account }: Customer): (ReceiptRow & { told: ReceiptDetail })[] {
  const rows = ledger.all("receipt").filter(({ partition }) => partition === account);
  return rows.map(({ row }) => ({ ...row, told: JSON.parse(row.detail) as ReceiptDetail }));
}

/** The most that a model can charge for a request, from the body that it was sent. */
function mostOf(model: ModelId, bodyBytes: number): number {
  const rate = BigInt(usdPerMillion[model]) * 1_000_000_000_000n;
  const price = { kind: "text", rates: { input: rate, output: rate } } as const;
  const promptTokens = bodyBytes + 32 + 256;
  return quoteText({ snapshotId: "", price, promptTokens, choices: 1, maxTokens: 10, modelMaxTokens: 10 }).maxNanoUsd;
}

const anyOutcome = fc.oneof(fc.constantFrom(...passedOver), fc.constantFrom(...passedOver), fc.constantFrom(...final));

test("of a list of models the first that can answers, within one hold of the dearest, and is charged at its own price", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray([...models], { minLength: 1 }),
      fc.record({ one: anyOutcome, two: anyOutcome, six: anyOutcome, ten: anyOutcome }),
      fc.boolean(),
      async (list, outcomes, stream) => {
        let bodyBytes = 0;
        const customer = await open(
          (model, { body }) => {
            bodyBytes = body?.length ?? 0;
            return answerOf(outcomes[model], stream);
          },
          { queue: { atOnce: 1, waiting: 1, waitMs: 1_000 } },
        );
        const stop = list.findIndex((model) => !isPassedOver(outcomes[model]));
        const asked = stop === -1 ? list : list.slice(0, stop + 1);
        const last = asked.at(-1) ?? "one";
        const response = await ask(customer, { models: list }, { stream });
        const text = await response.text();
        await customer.done();

        // A request of which no byte was sent is sent a second time.
        const sent = asked.flatMap((model) => (outcomes[model] === "not reached" ? [model, model] : [model]));
        assert.deepEqual(customer.sent, sent);
        const isServed = outcomes[last] === "200";
        assert.equal(response.status === 200, isServed, text);
        const [receipt, ...others] = receiptsOf(customer);
        assert.ok(receipt !== undefined && others.length === 0);
        assert.equal(receipt.heldNanoUsd, Math.max(...list.map((model) => mostOf(model, bodyBytes))));
        const charge = isServed ? 8 * usdPerMillion[last] * 1_000 : 0;
        assert.deepEqual([receipt.state, receipt.chargeNanoUsd], [isServed ? "settled" : "released", charge]);
        // One try at most can be billed, at the price of its model.
        const mayBill = ["broken", "no JSON"].includes(outcomes[last]);
        const loss = !mayBill ? 0 : stream && outcomes[last] === "broken" ? null : mostOf(last, bodyBytes);
        if (loss !== null) assert.equal(receipt.lossNanoUsd, loss);
        assert.equal(receipt.told.model, last);
        const tried = asked.slice(0, -1);
        assert.deepEqual(receipt.told.tried?.map(({ model }) => model) ?? [], tried);
        const view = customer.ledger.read(customer.account, { type: "balance", at: NOW });
        const { settledNanoUsd, availableNanoUsd } = await view;
        assert.deepEqual([settledNanoUsd, availableNanoUsd], [charge, USD - charge]);
        assert.equal(customer.gateway.live.size, 0);
        for (const model of models) {
          const turn = customer.gateway.queue.tryEnter({ account: "another", key: "another", model });
          assert.ok(turn !== null, `the turn of ${model} is free`);
        }
      },
    ),
    { numRuns: runs(60) },
  );
});

test("a balance below the dearest model's price buys nothing of the list, and the error says what it would buy of each", async () => {
  const customer = await open(() => answerOf("200", false), {}, 4_500_000);
  const wanted = { models: ["one", "ten"], max_tokens: 200 };
  const response = await ask(customer, wanted);
  const { error } = JSON.parse(await response.text()) as { error: { code: string; metadata: Record<string, number> } };
  assert.deepEqual([response.status, error.code, customer.sent], [402, "insufficient_balance", []]);
  const affordable = error.metadata.max_affordable_tokens ?? 0;
  assert.ok(affordable > 0 && affordable < 200);
  assert.equal((await ask(customer, { ...wanted, max_tokens: affordable })).status, 200);
  assert.equal((await ask(customer, { model: "one", max_tokens: 200 })).status, 200);
});

test("an alias has its fallbacks, and GET /generation tells what was tried", async () => {
  const customer = await open((model) => answerOf(model === "one" ? "503" : "200", false));
  const response = await ask(customer, { model: "ours" });
  await response.text();
  const id = response.headers.get("x-request-id") ?? "";
  const { body } = await customer.call("GET", `/api/v1/generation?id=${id}`, { bearer: customer.key });
  assert.deepEqual([body.data?.model, body.data?.tried], ["ten", [{ model: "one", why: "status 503" }]]);
  const listed = JSON.parse((await customer.call("GET", "/v1/models/ours")).text) as Record<string, unknown>;
  assert.deepEqual([listed.alias_of, listed.fallbacks], ["one", ["ten"]]);
  await (await ask(customer, { model: "ten" })).text();
  const [, without] = receiptsOf(customer);
  assert.ok(without !== undefined && !("tried" in without.told));
});

test("a model whose circuit is open, or whose queue is full, is passed over without being asked", async () => {
  const customer = await open((model) => answerOf(model === "one" ? "503" : "200", false), {
    ...{ breaker: { failures: 1, openMs: 5_000 } },
    ...{ queue: { atOnce: 1, waiting: 0, waitMs: 1_000 } },
  });
  const list = { models: ["one", "two", "six"] };
  assert.equal((await ask(customer, list)).status, 200);
  const taken = customer.gateway.queue.tryEnter({ account: "another", key: "provider-key", model: "two" });
  assert.ok(taken !== null);
  assert.equal((await ask(customer, list)).status, 200);
  assert.deepEqual(customer.sent, ["one", "two", "six"]);
  const [, second] = receiptsOf(customer);
  assert.deepEqual(second?.told.tried, [
    { model: "one", why: "circuit open" },
    { model: "two", why: "queue full" },
  ]);
});

test("a repeated request with fallbacks gets the first one's answer, and asks no model again", async () => {
  const customer = await open((model) => answerOf(model === "one" ? "500" : "200", false));
  const headers = { "idempotency-key": "k" };
  const [first, second] = [
    await ask(customer, { models: ["one", "two"] }, { headers }),
    await ask(customer, { models: ["one", "two"] }, { headers }),
  ];
  assert.equal(await second.text(), await first.text());
  assert.equal(second.headers.get("idempotent-replayed"), "true");
  assert.deepEqual([customer.sent, receiptsOf(customer).length], [["one", "two"], 1]);
  assert.equal((await ask(customer, { models: ["two", "one"] }, { headers })).status, 422);
});

test("no further model is asked for a client that has left", async () => {
  const client = new AbortController();
  const customer = await open(() => {
    client.abort();
    return answerOf("503", false);
  });
  await ask(customer, { models: ["one", "two"] }, { signal: client.signal });
  await customer.done();
  const [receipt] = receiptsOf(customer);
  assert.deepEqual([customer.sent, receipt?.state, receipt?.chargeNanoUsd], [["one"], "released", 0]);
});

test("the hold of a stream names the model that answers before any of it is sent, so that another process can settle it", async () => {
  const rest = Promise.withResolvers<void>();
  const customer = await open((model) => {
    if (model === "one") return answerOf("503", true);
    const answer = answerOf("200", true);
    return {
      ...answer,
      body: (async function* () {
        for await (const text of answer.body) {
          const end = Buffer.from(text).indexOf("\n\n") + 2;
          yield text.subarray(0, end);
          await rest.promise;
          yield text.subarray(end);
        }
      })(),
    };
  });
  const response = await ask(customer, { models: ["one", "two"] }, { stream: true });
  const chunks = response.body?.values();
  await chunks?.next();
  const [hold] = receiptsOf(customer);
  assert.deepEqual([hold?.state, hold?.upstreamId, hold?.told.model], ["open", "a", "two"]);
  assert.deepEqual(hold?.told.tried, [{ model: "one", why: "status 503" }]);
  rest.resolve();
  while ((await chunks?.next())?.done === false);
  await customer.done();
  assert.equal(receiptsOf(customer)[0]?.state, "settled");
});
