import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CHAIN_ID } from "@inference/gateway/test/fund";
import { hostFor } from "@inference/gateway/test/host-for";
import { sendHttp } from "@inference/gateway/test/http-client";
import { settledOf } from "@inference/gateway/test/settlement/audit";
import { chainPartition } from "@inference/ledger/partition";
import { eventually } from "@inference/protocol/testing/eventually";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import { startStack, type TestAccount } from "./testing/stack.ts";

/** The operator's settings and metrics. Each test has settings of its own, and a suite has none. */
const USD = 1_000_000_000;
const TOKEN = "an-operators-token";

const ask = (content: string, model = "sim-small") => ({
  model,
  messages: [{ role: "user", content }],
  max_tokens: 20,
});

async function code(answer: Response): Promise<string> {
  return ((await answer.json()) as { error: { code: string } }).error.code;
}

describe("/metrics", () => {
  const billing = { url: "http://127.0.0.1:9/charges?day={day}", key: "a-key-for-charges" };
  const stack = hostFor(() => startStack({ operator: { metricsToken: TOKEN }, upstream: { billing } }));

  const scrape = async (): Promise<Map<string, number>> => {
    const answer = await stack.call("/metrics", { key: TOKEN });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    return parse(await answer.text());
  };

  test("count requests, outcomes and money as they happened", async () => {
    const account = await stack.account(USD);
    const asked = { key: account.key, body: ask("hello [[tokens=10]]") };
    const before = await scrape();
    for (let left = 3; left > 0; left--) assert.equal((await stack.call("/v1/chat/completions", asked)).status, 200);
    const refused = await stack.call("/v1/chat/completions", { key: account.key, body: ask("x", "none") });
    assert.equal(refused.status, 404);
    const [streamed, failed] = [{ ...ask("[[tokens=5]]"), stream: true }, ask("[[fault=500]]")];
    await (await stack.call("/v1/chat/completions", { key: account.key, body: streamed })).text();
    assert.ok((await stack.call("/v1/chat/completions", { key: account.key, body: failed })).status >= 500);
    assert.equal((await stack.call("/nowhere", asked)).status, 404);
    const settled = await settledOf(stack, account.address);
    const after = await scrape();
    const more = (name: string): number => (after.get(name) ?? 0) - (before.get(name) ?? 0);
    const chat = 'route="POST /v1/chat/completions"';
    assert.equal(more(`requests_total{${chat},status="200"}`), 4);
    assert.equal(more(`requests_total{${chat},status="404"}`), 1);
    assert.equal(more(`request_seconds_count{${chat}}`), 6);
    assert.equal(more(`request_seconds_bucket{${chat},le="+Inf"}`), 6);
    assert.equal(more('requests_total{route="elsewhere",status="404"}'), 1);
    assert.equal(more('refusals_total{code="model_not_found"}'), 1);
    assert.equal(more("admission_seconds_count"), 5);
    assert.equal(more('exchanges_total{outcome="settle",basis="usage"}'), 4);
    assert.equal(more('exchanges_total{outcome="release",basis="nothing"}'), 1);
    const charged = settled.reduce((sum, { receipt }) => sum + receipt.chargeNanoUsd, 0);
    assert.ok(charged > 0);
    assert.equal(more("charged_nano_usd_total"), charged);
    assert.equal(more("ceiling_settled_nano_usd"), charged);
    const reported = more('provider_cost_nano_usd_total{model="sim-small"}');
    assert.ok(reported > 0);
    assert.equal(reported, more('listed_cost_nano_usd_total{model="sim-small"}'));
    assert.equal(more('upstream_answers_total{status="200"}'), 4);
    assert.deepEqual(
      ["requests_in_flight", "ledger_writable", "chain_following", "chain_halted", "models_cut_off"].map((name) =>
        after.get(name),
      ),
      [0, 1, 1, 0, 0],
    );
  });

  test("name no account, key or address, and models in the provider's costs only", async () => {
    const { address, key } = await stack.account(USD);
    await stack.call("/v1/chat/completions", { key, body: ask("a secret prompt") });
    const text = await (await stack.call("/metrics", { key: TOKEN })).text();
    for (const secret of [address, key, "key_", "secret", "127.0.0.1", stack.canary]) {
      assert.ok(!text.includes(secret), secret);
    }
    const named = text.split("\n").filter((line) => line.includes("sim-"));
    assert.ok(
      named.every((line) => /_cost_nano_usd_total\{model="/.test(line)),
      named.join("\n"),
    );
    for (const line of text.trimEnd().split("\n")) {
      assert.match(
        line,
        /^(# (HELP|TYPE) \w+ .+|inference_gateway_\w+(\{\w+="[^"\\]*"(,\w+="[^"\\]*")*\})? -?[\d.e+-]+)$/,
      );
    }
  });

  test("the provider's bill of the last reconciled day is beside its list prices, once it was read", async () => {
    const chain = chainPartition(CHAIN_ID);
    const days = [6, 5, 4, 3, 2, 1].map((ago) => utcDay(Date.now() - ago * DAY_MS));
    const sums = { statementsNanoUsd: 0, debitedNanoUsd: 0, foreignNanoUsd: 0, chunks: 0 };
    const reconcile = (id: string, more: object, closedAt: number | null = 1) => {
      const detail = JSON.stringify({ ...sums, ...more });
      return stack.put(chain, { type: "reconcile", id, at: 1, closedAt, unexplainedNanoUsd: 0, detail });
    };
    const read = async (path: string) => ((await (await stack.call(path)).json()) as { data: object }).data;
    const bill = async () => (await read("/api/v1/status")) as { provider_bill: object | null };
    assert.equal((await bill()).provider_bill, null, "no day was reconciled");
    const [first = "", second = "", ...open] = days;
    await reconcile(first, {});
    const none = { listed: null, listed_nano_usd: null, provider: null, provider_nano_usd: null };
    assert.deepEqual((await bill()).provider_bill, { day: first, ...none }, "as it was stored before there were bills");
    await reconcile(second, { listedNanoUsd: 1_500_000_000 });
    const listed = { listed: 1.5, listed_nano_usd: 1_500_000_000 };
    assert.deepEqual((await bill()).provider_bill, { ...none, day: second, ...listed });
    for (const day of open) await reconcile(day, {}, null);
    await stack.put(chain, { type: "noteBill", day: second, providerNanoUsd: 1_600_000_001 });
    await stack.put(chain, { type: "noteBill", day: second, providerNanoUsd: 7 });
    const provider = { provider: 1.600000001, provider_nano_usd: 1_600_000_001 };
    assert.deepEqual((await bill()).provider_bill, { day: second, ...listed, ...provider });
    assert.partialDeepStrictEqual(await read(`/api/v1/reconciliations/${second}`), { ...listed, ...provider });
    const gauges = await scrape();
    assert.equal(gauges.get("reconciliation_listed_nano_usd"), 1_500_000_000);
    assert.equal(gauges.get("reconciliation_provider_nano_usd"), 1_600_000_001);
  });

  test("need the operator's token", async () => {
    const { key } = await stack.account(USD);
    assert.equal(await code(await stack.call("/metrics")), "missing_credentials");
    for (const wrong of [key, "x", `${TOKEN}x`]) {
      const answer = await stack.call("/metrics", { key: wrong });
      assert.deepEqual([answer.status, await code(answer)], [401, "invalid_api_key"]);
    }
  });

  test("are not there without a token in the settings", async () => {
    await using plain = await startStack();
    const answer = await plain.call("/metrics", { key: TOKEN });
    assert.deepEqual([answer.status, await code(answer)], [404, "not_found"]);
  });
});

describe("requests a minute", () => {
  test("an account has as many as were set, and one more is 429 with the time to wait; another has its own", async () => {
    let now = Date.UTC(2026, 10, 21, 12);
    await using stack = await startStack({ now: () => now, operator: { accountRequestsPerMinute: 30 } });
    const [account, other] = [await stack.account(USD), await stack.account(USD)];
    const statuses = async ({ key }: TestAccount, times: number): Promise<number[]> => {
      const answers = Array.from({ length: times }, () => stack.call("/api/v1/key", { key }));
      return (await Promise.all(answers)).map(({ status }) => status).sort();
    };
    assert.deepEqual(await statuses(account, 31), [...Array<number>(30).fill(200), 429]);
    const paid = await stack.call("/v1/chat/completions", { key: account.key, body: ask("hi") });
    assert.deepEqual(
      [paid.status, paid.headers.get("retry-after"), paid.headers.get("x-should-retry"), await code(paid)],
      [429, "2", "true", "rate_limited"],
    );
    assert.deepEqual(await statuses(other, 1), [200]);
    now += 2_000;
    assert.deepEqual(await statuses(account, 2), [200, 429]);
    assert.deepEqual(await settledOf(stack, account.address), [], "what is refused costs nothing");
  });

  test("an address has as many as were set, whatever it asks for, and the answer is an error like any other", async () => {
    await using stack = await startStack({ now: () => 1_800_000_000_000, operator: { addressRequestsPerMinute: 5 } });
    const { key } = await stack.account(USD);
    const answers = [];
    for (const path of ["/healthz", "/nowhere", "/api/v1/key", "/v1/models", "/api/v1/key", "/healthz"]) {
      answers.push(await stack.call(path, { key }));
    }
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 404, 200, 200, 200, 429],
    );
    const last = answers.at(-1);
    assert.match(last?.headers.get("x-request-id") ?? "", /^req_/);
    assert.equal(last?.headers.get("access-control-allow-origin"), "*");
    // Twelve seconds are no wait to sleep through.
    assert.deepEqual([last?.headers.get("retry-after"), last?.headers.get("x-should-retry")], [null, "false"]);
    const said = (await last?.json()) as { error: { metadata: object } } | undefined;
    assert.deepEqual(said?.error.metadata, { requests_per_minute: 5, retry_after_s: 12 });
    const preflight = await stack.call("/v1/chat/completions", { method: "OPTIONS" });
    assert.equal(preflight.status, 204, "a browser's question is not counted");
  });

  test("behind a proxy it is the address that the proxy wrote last", async () => {
    const operator = { addressRequestsPerMinute: 1, addressHeader: "x-forwarded-for" };
    await using stack = await startStack({ now: () => 1_800_000_000_000, operator });
    const from = async (forwarded: string): Promise<number> =>
      (await sendHttp(stack.url, { path: "/healthz", headers: { "x-forwarded-for": forwarded } })).status;
    assert.equal(await from("203.0.113.1"), 200);
    assert.equal(await from("198.51.100.9, 203.0.113.1"), 429, "what the client wrote itself does not count");
    assert.equal(await from("203.0.113.1, 203.0.113.2"), 200);
    assert.equal(await from("2001:db8::1"), 200);
    assert.equal(await from("2001:db8::2"), 429, "one network");
    assert.equal(await from("203.0.113.1:50123"), 429, "a port changes nothing");
    const past = async (): Promise<number> => (await sendHttp(stack.url, { path: "/healthz" })).status;
    assert.deepEqual([await past(), await past()], [200, 429], "who comes past the proxy is counted as the peer");
    assert.equal(await from("nonsense"), 429, "and so is what is no address");
  });
});

describe("a provider that is down", () => {
  const breaker = { failures: 10, openMs: 5_000 };
  test("is asked so many times, then left alone without a hold, then tried again by one", async () => {
    let now = Date.UTC(2026, 10, 21, 12);
    await using stack = await startStack({ now: () => now, operator: { breaker } });
    const { key, address } = await stack.account(USD);
    const chat = (content: string, model?: string, payer = key) =>
      stack.call("/v1/chat/completions", { key: payer, body: ask(content, model) });
    for (let left = breaker.failures; left > 0; left--) {
      // Each failure comes from another account, because the failures of one count once.
      assert.equal((await chat("[[fault=503]]", "sim-small", (await stack.account(USD)).key)).status, 503);
    }
    const before = stack.simulator.simulator.records.select(() => true, 1_000).length;
    const refused = await chat("hello");
    assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "5"]);
    assert.equal(await code(refused), "upstream_unavailable");
    assert.equal(stack.simulator.simulator.records.select(() => true, 1_000).length, before, "nobody was asked");
    assert.deepEqual(await settledOf(stack, address), [], "nothing was held");
    assert.equal((await chat("hello", "sim-large")).status, 200, "another model is served");
    now += breaker.openMs;
    assert.equal((await chat("hello")).status, 200);
    assert.equal((await chat("hello")).status, 200);
  });
});

describe("a model that is asked for more than the provider serves at once", () => {
  const slow = "[[tokens=20]][[drip=10]]";

  test("is served in turns, account by account, at most the limit at once; the rest is 429", async () => {
    await using stack = await startStack({ operator: { queue: { atOnce: 2, waiting: 5, waitMs: 20_000 } } });
    const [greedy, modest] = [await stack.account(USD), await stack.account(USD)];
    let mostAtOnce = 0;
    const finished: string[] = [];
    const chat = async (name: string, { key }: TestAccount): Promise<number> => {
      const body = { ...ask(slow), stream: true };
      const answer = await stack.call("/v1/chat/completions", { key, body });
      mostAtOnce = Math.max(mostAtOnce, stack.gateway.live.size);
      await answer.text();
      finished.push(`${name} ${answer.status}`);
      return answer.status;
    };
    const first = ["g1", "g2", "g3", "g4", "g5", "g6"].map((name) => chat(name, greedy));
    await eventually(() => stack.gateway.queue.waiting() === 4);
    const second = [chat("m1", modest)];
    await eventually(() => stack.gateway.queue.waiting() === 5);
    const past = await stack.call("/v1/chat/completions", { key: greedy.key, body: ask("one more") });
    assert.deepEqual([past.status, past.headers.get("retry-after")], [429, "5"]);
    assert.equal(await code(past), "rate_limited");
    // The modest account's second takes the place of the greedy one's sixth, which came last of the longest line.
    second.push(chat("m2", modest));
    assert.deepEqual(await Promise.all([...first, ...second]), [200, 200, 200, 200, 200, 429, 200, 200]);
    assert.equal(mostAtOnce, 2);
    const place = finished.filter((name) => name.endsWith("200")).indexOf("m1 200");
    assert.ok(place <= 3, `the modest account came ${place + 1}th: ${finished.join(", ")}`);
    const all = [...(await settledOf(stack, greedy.address)), ...(await settledOf(stack, modest.address))];
    assert.equal(all.length, 7);
    assert.equal((await stack.call("/v1/chat/completions", { key: modest.key, body: ask("now") })).status, 200);
  });

  test("gives room back whatever becomes of a request: refused, failed, left", async () => {
    await using stack = await startStack({ operator: { queue: { atOnce: 1, waiting: 1, waitMs: 20_000 } } });
    const [account, poor] = [await stack.account(USD), await stack.account(1)];
    const chat = (key: string, content: string, signal?: AbortSignal) =>
      stack.call("/v1/chat/completions", {
        key,
        body: { ...ask(content), stream: true },
        ...(signal === undefined ? {} : { signal }),
      });
    assert.equal((await chat(poor.key, "hello")).status, 402);
    assert.equal((await chat(account.key, "[[fault=500]]")).status, 502);
    assert.equal((await chat(account.key, "[[fault=reset-before-headers]]")).status, 502);
    const leaving = new AbortController();
    const first = chat(account.key, slow);
    await eventually(() => stack.gateway.live.size === 1);
    const left = chat(account.key, slow, leaving.signal);
    await eventually(() => stack.gateway.queue.waiting() === 1);
    leaving.abort();
    await assert.rejects(left, { name: "AbortError" });
    await eventually(() => stack.gateway.queue.waiting() === 0);
    await (await first).text();
    await (await chat(account.key, "hello")).text();
    assert.equal((await settledOf(stack, account.address)).length, 4, "who left the line held nothing");
  });
});

/** Samples by their names, without the prefix. */
function parse(text: string): Map<string, number> {
  const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    samples.map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice("inference_gateway_".length, at), Number(line.slice(at + 1))];
    }),
  );
}
