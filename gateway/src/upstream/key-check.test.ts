import assert from "node:assert/strict";
import { test } from "node:test";
import { limits } from "../config.ts";
import { type Environment, UpstreamFailure } from "../environment.ts";
import { makeKeyCheck } from "./key-check.ts";

function open() {
  const clock = { time: 0, now: () => clock.time };
  const provider = { status: 400 as number | null, asked: 0 };
  const alerts: unknown[] = [];
  const environment: Pick<Environment, "clock" | "timers" | "log" | "background"> = {
    clock,
    timers: { after: () => ({ cancel: () => undefined }) },
    log: (level, event) => alerts.push([level, event]),
    background: () => undefined,
  };
  const check = makeKeyCheck("master", environment, {
    async tryKey() {
      provider.asked += 1;
      if (provider.status === null) throw new UpstreamFailure("not_sent", "nobody there");
      return provider.status;
    },
  });
  return { clock, provider, check, alerts, state: async () => (await check.current()).state };
}

test("a key is asked about once while it is good, and not at all where requests say that it is", async () => {
  const { clock, provider, check, state } = open();
  assert.deepEqual([await state(), await state(), provider.asked], ["ok", "ok", 1]);
  clock.time += 10 * limits.keyCheckMs;
  assert.deepEqual([await state(), provider.asked], ["ok", 1]);
  const other = open();
  other.check.accepted("master");
  assert.deepEqual([await other.state(), other.provider.asked], ["ok", 0]);
  check.doubted("a key of an identity's own");
  assert.deepEqual([await state(), provider.asked], ["ok", 1], "another key says nothing of this one");
});

test("a key that a request casts doubt on is refused only if the gateway's own request is, and operators are told", async () => {
  const { clock, provider, check, alerts, state } = open();
  check.accepted("master");
  check.doubted("master");
  assert.deepEqual([await state(), check.isRefused, provider.asked, alerts], ["ok", false, 1, []]);
  for (const status of [401, 402, 403]) {
    clock.time += limits.keyCheckMs;
    provider.status = status;
    check.doubted("master");
    assert.deepEqual([await state(), check.isRefused], ["refused", true], `${status}`);
    check.accepted("master");
  }
  assert.equal(await state(), "ok");
  assert.deepEqual(alerts, Array(3).fill(["alert", "provider"]));
});

test("however many requests cast doubt on a key, the provider is asked once in a while", async () => {
  const { clock, provider, check, state } = open();
  check.accepted("master");
  for (let left = 100; left > 0; left--) {
    clock.time += limits.keyCheckMs / 100;
    check.doubted("master");
    await state();
  }
  assert.equal(provider.asked, 1);
});

test("a refused key is asked about again after a while, once for all who ask, and is good when it is accepted", async () => {
  const { clock, provider, alerts, state } = open();
  provider.status = 401;
  assert.deepEqual(await Promise.all([state(), state()]), ["refused", "refused"]);
  assert.equal(provider.asked, 1);
  assert.deepEqual(alerts, [["alert", "provider"]]);
  provider.status = 400;
  assert.equal(await state(), "refused", "not asked at once");
  clock.time += limits.keyCheckMs;
  assert.equal(await state(), "ok");
});

test("a provider that cannot be asked, or whose answer says nothing of the key, leaves what was known", async () => {
  for (const status of [null, 404, 429, 500, 503]) {
    const { clock, provider, check, state } = open();
    provider.status = status;
    assert.deepEqual([await state(), await state(), provider.asked], ["unknown", "unknown", 1], `${status}`);
    check.doubted("master");
    assert.equal(await state(), "unknown", `${status}`);
    clock.time += limits.keyCheckMs;
    provider.status = 401;
    assert.equal(await state(), "refused", `${status}`);
    clock.time += limits.keyCheckMs;
    provider.status = status;
    assert.equal(await state(), "refused", `${status}`);
  }
});
