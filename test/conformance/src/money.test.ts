import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Account, openAccount, readReceipt, spentBy } from "./account.ts";
import { checkExchange, type Exchange } from "./exchange.ts";
import { codeOf, sendRaw } from "./raw.ts";
import { openTarget, type Target } from "./target.ts";

/** Requests at once stay within a limit, and two requests with one idempotency key are paid once. */
const AT_ONCE = 64;

let target: Target;
let account: Account;
before(async () => {
  target = await openTarget();
  account = await openAccount(target, 6);
});
after(() => target?.close());

describe("a limit", () => {
  test(`of which each of ${AT_ONCE} requests at once can take 60 % is for one at a time`, async () => {
    const { key } = await account.makeKey(`limit=${usd(Math.ceil((await mostOfOne()) / 0.6))}`);
    // The delay keeps the admitted request open until all others are refused.
    const answers = await together(AT_ONCE, () => chat(key, { markers: "[[tokens=50]][[delay=3000]]" }));
    assert.deepEqual(tally(answers), { "200": 1, "429 budget_reserved": AT_ONCE - 1 });
    await assertSpent(key, answers);
  });

  test("is spent until a request does not fit, and not beyond", async () => {
    const limit = Math.ceil((await mostOfOne()) * 3.5);
    const { key } = await account.makeKey(`limit=${usd(limit)}`);
    const all: Exchange[] = [];
    for (;;) {
      const answers = await together(AT_ONCE, () => chat(key, { markers: "[[tokens=50]]" }));
      all.push(...answers);
      const spent = await assertSpent(key, all);
      assert.ok(spent <= limit, `${spent} of ${limit}`);
      if (answers.every((answer) => answer.status === 402)) break;
    }
    assert.ok(all.filter(isServed).length >= 3, `${all.filter(isServed).length} were served`);
  });

  test("affords what its error says, and not one token more", async () => {
    const { key } = await account.makeKey(`limit=${usd(Math.ceil((await mostOfOne()) * 0.9))}`);
    const refused = await chat(key, {});
    assert.equal(codeOf(refused), "key_limit_exceeded");
    const { error } = jsonOf(refused) as { error: { metadata: { max_affordable_tokens: number } } };
    const affordable = error.metadata.max_affordable_tokens;
    assert.ok(affordable > 0 && affordable < MAX_TOKENS, `${affordable} tokens`);
    assert.equal(codeOf(await chat(key, { maxTokens: affordable + 1 })), "key_limit_exceeded");
    assert.equal((await chat(key, { maxTokens: affordable })).status, 200);
  });
});

describe("an Idempotency-Key", () => {
  test(`on ${AT_ONCE} requests at once is served and paid once; what is answered is the same answer`, async () => {
    const { key } = await account.makeKey();
    const name = `at-once-${Date.now()}`;
    const answers = await together(AT_ONCE, () => chat(key, { name, markers: "[[delay=200]]" }));
    const { "200": served = 0, "409 idempotency_in_progress": waiting = 0 } = tally(answers);
    assert.ok(served >= 1);
    assert.equal(served + waiting, AT_ONCE, JSON.stringify(tally(answers)));
    assert.equal(new Set(answers.filter(isServed).map(({ body }) => Buffer.from(body).toString())).size, 1);
    await assertSpent(key, answers);
  });

  test("sent again is answered with the same bytes, and with another body it is refused", async () => {
    const { key } = await account.makeKey();
    const name = `again-${Date.now()}`;
    const first = await chat(key, { name });
    const second = await chat(key, { name });
    assert.deepEqual(
      [first.headers.get("idempotent-replayed"), second.headers.get("idempotent-replayed")],
      [null, "true"],
    );
    assert.deepEqual(second.body, first.body);
    const other = await chat(key, { name, maxTokens: MAX_TOKENS - 1 });
    assert.deepEqual([other.status, codeOf(other)], [422, "idempotency_mismatch"]);
    await assertSpent(key, [first, second, other]);
  });
});

const MAX_TOKENS = 100;

type Chat = { markers?: string; maxTokens?: number; name?: string };

async function chat(key: string, { markers = "", maxTokens = MAX_TOKENS, name }: Chat): Promise<Exchange> {
  // As long as any, so that all of them can cost the same.
  const messages = [{ role: "user", content: markers.padEnd(60) }];
  const exchange = await sendRaw(target.url, {
    method: "POST",
    path: "/v1/chat/completions",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      ...(name === undefined ? {} : { "idempotency-key": name }),
    },
    body: JSON.stringify({ model: "sim-small", max_tokens: maxTokens, messages }),
  });
  checkExchange(exchange, target);
  return exchange;
}

/** The most that one of these requests can cost, as the refusal of one says. */
async function mostOfOne(): Promise<number> {
  const { key } = await account.makeKey("limit=0.000000001");
  const { error } = jsonOf(await chat(key, {})) as { error: { metadata: { needed_nano_usd: number } } };
  return error.metadata.needed_nano_usd;
}

/** The key has spent what the receipts of its answers say, each once. */
async function assertSpent(key: string, answers: readonly Exchange[]): Promise<number> {
  const spent = await spentBy(target, key);
  const ids = new Set(answers.filter(isServed).map(({ headers }) => headers.get("x-request-id") ?? ""));
  const receipts = await Promise.all([...ids].map((id) => readReceipt(target, key, id)));
  assert.equal(
    spent,
    receipts.reduce((total, receipt) => total + receipt.charge_nano_usd, 0),
  );
  return spent;
}

function together(count: number, ask: () => Promise<Exchange>): Promise<Exchange[]> {
  return Promise.all(Array.from({ length: count }, ask));
}

function tally(answers: readonly Exchange[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const answer of answers) {
    const outcome = isServed(answer) ? "200" : `${answer.status} ${codeOf(answer)}`;
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}

function isServed({ status }: Exchange): boolean {
  return status === 200;
}

function jsonOf({ body }: Exchange): unknown {
  return JSON.parse(Buffer.from(body).toString());
}

/** Nano-dollars as an amount in dollars, exactly. */
function usd(nanoUsd: number): string {
  return `${Math.floor(nanoUsd / 1e9)}.${String(nanoUsd % 1e9).padStart(9, "0")}`;
}
