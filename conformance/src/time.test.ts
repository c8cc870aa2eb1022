import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Stack, startStack, type TestAccount } from "@inference/host-node/testing/stack";

/** What a URL cannot be asked for: another clock, and another price list at the provider. */
const USD = 1_000_000_000;
const stacks: Stack[] = [];
after(() => Promise.all(stacks.map((stack) => stack.stop())));

describe("a request belongs to the moment of its admission", () => {
  test("over midnight it is settled on the day before, with its key's limit of that day", async () => {
    const midnight = Date.UTC(2026, 1, 28) + 86_400_000;
    let now = midnight - 200;
    const stack = await open({ now: () => now });
    const account = await stack.account(USD, { window: "day", limitNanoUsd: USD });
    const stream = await ask(stack, account, "[[tokens=10]][[delay=300]]");
    now = midnight + 1_000;
    await stream.text();
    const charge = await chargeOf(stack, account, stream);
    assert.ok(charge > 0);
    // The day that has begun has seen nothing of it: neither the key's limit nor the ceiling.
    assert.equal((await dataOf(stack, account, "/api/v1/key")).usage_nano_usd, 0);
    assert.equal((await dataOf(stack, account, "/api/v1/status")).ceiling.settled_nano_usd, 0);
    assert.equal((await dataOf(stack, account, "/api/v1/credits")).total_usage_nano_usd, charge);
    now = midnight - 1;
    assert.equal((await dataOf(stack, account, "/api/v1/key")).usage_nano_usd, charge);
    assert.equal((await dataOf(stack, account, "/api/v1/status")).ceiling.settled_nano_usd, charge);
  });

  test("a price that changes while it runs is the next request's", async () => {
    const stack = await open({});
    const account = await stack.account(USD);
    const before = await ask(stack, account, "[[tokens=10]]");
    await before.text();
    const during = await ask(stack, account, "[[tokens=10]][[drip=30]]");
    const prices = { "sim-small": { input: { usd: 1.5 }, output: { usd: 6 } } };
    const set = await fetch(`${stack.simulator.controlUrl}/config`, {
      method: "POST",
      body: JSON.stringify({ prices }),
    });
    assert.equal(set.status, 200, await set.text());
    await stack.gateway.prices.refresh();
    await during.text();
    const after = await ask(stack, account, "[[tokens=10]]");
    await after.text();
    const [one, two, three] = await Promise.all([before, during, after].map((each) => chargeOf(stack, account, each)));
    assert.equal(two, one);
    assert.equal(three, (one ?? 0) * 10);
  });
});

async function open(options: Parameters<typeof startStack>[0]): Promise<Stack> {
  const stack = await startStack(options);
  stacks.push(stack);
  return stack;
}

function ask(stack: Stack, { key }: TestAccount, markers: string): Promise<Response> {
  const messages = [{ role: "user", content: `Harbours. ${markers.padEnd(40)}` }];
  const body = { model: "sim-small", max_tokens: 50, stream: true, messages };
  return stack.call("/v1/chat/completions", { key, body });
}

async function chargeOf(stack: Stack, account: TestAccount, answer: Response): Promise<number> {
  const id = answer.headers.get("x-request-id");
  while ((await stack.balance(account.address)).heldNanoUsd > 0) await sleep(5);
  return (await dataOf(stack, account, `/api/v1/generation?id=${id}`)).charge_nano_usd;
}

type Data = {
  usage_nano_usd: number;
  total_usage_nano_usd: number;
  charge_nano_usd: number;
  ceiling: { settled_nano_usd: number };
};

async function dataOf(stack: Stack, { key }: TestAccount, path: string): Promise<Data> {
  const response = await stack.call(path, { key });
  assert.equal(response.status, 200, await response.clone().text());
  return ((await response.json()) as { data: Data }).data;
}
