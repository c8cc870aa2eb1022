import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { TestAccount } from "../fund.ts";
import type { StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";
import { chatBody, makeTag, USD, withFault } from "../settlement/pay.ts";

const WINDOW_MS = 30_000;
const MINUTE_MS = 60_000;
const CUSTOMERS = 8;
/** The most failures and unanswered requests of one account at the provider: two thirds of 18. */
const MOST_EACH = 12;

type Reply = { status: number; code: string; message: string; retryAfterS: number };
type ErrorBody = { error?: { code: string; message: string; metadata?: { retry_after_s?: number } } };

/** A provider that blocks a key after 20 failed requests within 30 s, for every host. */
export function testProviderFailures(start: StartHost): void {
  describe("requests that fail at the provider", () => {
    const host = hostFor(start, { fresh: true, failures: true });
    beforeEach(async () => {
      host.simulator.simulator.reset();
      host.simulator.simulator.change({ errorBudgetOf: "key" });
      await pass(2 * MINUTE_MS);
    });

    /** The clocks of the gateway and of the provider go on. */
    async function goTo(at: number): Promise<void> {
      await host.goTo(at);
      host.simulator.simulator.change({ clockOffsetMs: host.now() - Date.now() });
    }
    const pass = (ms: number): Promise<void> => goTo(host.now() + ms);

    async function ask({ key }: TestAccount, markers = "[[tokens=2]]", model = "sim-small"): Promise<Reply> {
      const body = chatBody(model, markers)(makeTag());
      const answer = await host.call("/v1/chat/completions", { key, body });
      const { error } = (await answer.json()) as ErrorBody;
      const retryAfterS = error?.metadata?.retry_after_s ?? Number(answer.headers.get("retry-after") ?? 0);
      return { status: answer.status, code: error?.code ?? "", message: error?.message ?? "", retryAfterS };
    }
    const times = <T>(count: number, work: () => Promise<T>): Promise<T[]> =>
      Promise.all(Array.from({ length: count }, work));
    const customers = (): Promise<TestAccount[]> => times(CUSTOMERS, () => host.account(USD));
    /** The statuses of the provider's answers to paid requests. */
    const answered = (): (number | null)[] =>
      host.simulator.simulator.records
        .select(({ path, model }) => path.endsWith("/chat/completions") && model !== "", 1_000)
        .map(({ status }) => status);
    const providerAlerts = async (): Promise<string[]> =>
      (await host.said('"provider"')).filter(({ event }) => event === "provider").map(({ alert }) => String(alert));
    /** The provider's health alone: after so many jumps of the clock, the settler's would be bad. */
    async function health(): Promise<string> {
      const { checks } = (await (await host.call("/healthz")).json()) as { checks: { provider: string } };
      return checks.provider;
    }

    test("an attacker's 25 refused prompts at once, round after round, refuse no other customer a request", async () => {
      const attacker = await host.account(USD);
      const others = await customers();
      for (let round = 1; round <= 4; round++) {
        const attack = times(25, () => ask(attacker, withFault("422")));
        const served = await Promise.all(others.map((other) => ask(other)));
        const refused = await attack;
        served.push(...(await Promise.all(others.map((other) => ask(other)))));
        assert.deepEqual(new Set(served.map(({ status }) => status)), new Set([200]));
        for (const { status, code, message } of refused) {
          if (status === 400) assert.equal(code, "content_policy_violation");
          else assert.deepEqual([status, code, /failed at the provider/.test(message)], [429, "rate_limited", true]);
        }
        await pass(WINDOW_MS / 2);
      }
      const failures = answered().filter((status) => status === 422).length;
      assert.ok(failures >= 5 && failures <= 2 * MOST_EACH, `${failures} failures in two windows`);
      assert.ok(!answered().includes(429), "the provider never blocked the key");
      assert.equal((await host.balance(attacker.address)).settledNanoUsd, 0);
    });

    test("five failures in a row are an account's last until they are 30 s old, and the provider is not asked", async () => {
      const [careless, other] = [await host.account(USD), await host.account(USD)];
      for (let left = 5; left > 0; left--) assert.equal((await ask(careless, withFault("400-schema"))).status, 400);
      const before = answered().length;
      const refused = await ask(careless);
      assert.deepEqual([refused.status, refused.code], [429, "rate_limited"], refused.message);
      assert.ok(refused.retryAfterS > 20 && refused.retryAfterS <= 30, `${refused.retryAfterS} s`);
      assert.equal(answered().length, before);
      assert.equal((await ask(other)).status, 200);
      await pass(WINDOW_MS);
      assert.equal((await ask(careless)).status, 200);
    });

    test("accounts that fail together leave the provider's limit to the others", async () => {
      const careless = await customers();
      for (let round = 1; round <= 4; round++) {
        for (const account of careless) await ask(account, withFault("422"));
      }
      const failures = answered().filter((status) => status === 422).length;
      assert.equal(failures, 18);
      assert.equal((await ask(await host.account(USD))).status, 200);
    });

    test("an account with more requests than its part has them served as the answers come", async () => {
      const busy = await host.account(USD);
      const replies = await times(2 * MOST_EACH, () => ask(busy, "[[tokens=2]][[delay=50]]"));
      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]));
    });

    test("a block of the key is told with its end, to the operator too, and no request is sent before", async () => {
      host.simulator.simulator.change({ errorBudget: 0 });
      const [first, second] = [await host.account(USD), await host.account(USD)];
      assert.equal((await ask(first, withFault("422"))).status, 400);
      const before = (await providerAlerts()).length;
      const blocked = await ask(second);
      assert.deepEqual([blocked.status, blocked.code, blocked.retryAfterS], [503, "upstream_unavailable", 30]);
      assert.match((await providerAlerts()).slice(before).join(), /blocks UPSTREAM_API_KEY for 30 s/);
      const asked = answered().length;
      for (const account of [first, second]) {
        const refused = await ask(account, "[[tokens=2]]", "sim-large");
        assert.deepEqual([refused.status, refused.code], [503, "upstream_unavailable"]);
        assert.ok(refused.retryAfterS > 20 && refused.retryAfterS <= 30, refused.message);
      }
      assert.equal(answered().length, asked);
      host.simulator.simulator.change({ errorBudget: 20 });
      await pass(WINDOW_MS);
      assert.equal((await ask(second)).status, 200);
    });

    test("a flagged prompt, a model for other keys and a wrong field are told as such, and harm no health", async () => {
      assert.equal(await health(), "ok");
      const before = (await providerAlerts()).length;
      const account = await host.account(USD);
      const cases: [fault: string, status: number, code: string, message: RegExp][] = [
        ["403-flagged", 400, "content_policy_violation", /Your input was flagged/],
        ["401-model", 404, "model_not_found", /only available to Pro users/],
        ["422-fields", 400, "invalid_request", /temperature: Input should be less than or equal to 2/],
      ];
      for (const [fault, status, code, message] of cases) {
        const reply = await ask(account, withFault(fault));
        assert.deepEqual([reply.status, reply.code], [status, code], reply.message);
        assert.match(reply.message, message);
        assert.equal(await health(), "ok", fault);
      }
      // It could be the key, which the gateway's own question clears.
      assert.equal((await ask(account, withFault("401"))).status, 503);
      assert.equal(await health(), "ok");
      assert.equal((await providerAlerts()).length, before);
    });

    test("a model that the provider limits with Retry-After alone gets no request before", async () => {
      const [one, two] = [await host.account(USD), await host.account(USD)];
      assert.equal((await ask(one, withFault("429-retry-after"))).status, 503);
      const asked = answered().length;
      for (const account of [one, two]) {
        const refused = await ask(account);
        assert.deepEqual([refused.status, refused.code], [429, "rate_limited"], refused.message);
        assert.ok(refused.retryAfterS > 20 && refused.retryAfterS <= 30, refused.message);
      }
      assert.equal(answered().length, asked);
      assert.equal((await ask(two, "[[tokens=2]]", "sim-large")).status, 200, "another model is not concerned");
      await pass(WINDOW_MS);
      assert.equal((await ask(two)).status, 200);
    });

    test("a model whose requests of the minute are used up waits for the next, and the provider refuses none", async () => {
      // The minute ends in 45 s, which is longer than a request waits.
      await goTo(Math.ceil(host.now() / MINUTE_MS) * MINUTE_MS + 15_000);
      host.simulator.simulator.change({ requestsPerMinute: 3 });
      const [one, two] = [await host.account(USD), await host.account(USD)];
      for (const account of [one, two, one]) assert.equal((await ask(account)).status, 200);
      const refused = await ask(two);
      assert.deepEqual([refused.status, refused.code], [429, "rate_limited"], refused.message);
      assert.ok(refused.retryAfterS > 20 && refused.retryAfterS <= 45, refused.message);
      assert.equal((await ask(two, "[[tokens=2]]", "sim-large")).status, 200, "another model's are its own");
      await pass(45_000);
      assert.equal((await ask(two)).status, 200);
      assert.ok(!answered().includes(429));
    });
  });
}
