import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { accountPartition, ceilingPartition } from "@inference/ledger/partition";
import { eventually } from "@inference/protocol/testing/eventually";
import { dollarWindows, windowEnd } from "@inference/protocol/window";
import { assertError } from "../assert-error.ts";
import type { TestAccount } from "../fund.ts";
import { grantCapacity, type HostUnderTest, type StartHost } from "../host.ts";
import { hostFor } from "../host-for.ts";
import { sendHttp, type WireAnswer } from "../http-client.ts";
import { billed, checkAccount, checkSums, providerRecords, settledOf, settledOne, sum } from "../settlement/audit.ts";

/**
 * Concurrent requests never spend more than the balance, the key's limit or the day's ceiling.
 */
const USD = 1_000_000_000;

const isDeep = process.env.DEEP === "1";
/** The accounts that share the ceiling. */
const CROWD = isDeep ? 40 : 20;

/** `[[fault=usage-above-bound]]` makes a request cost its whole hold. */
const COSTS_ITS_HOLD = "[[fault=usage-above-bound]]";
const MAX_TOKENS = 1_000;

function bodyOf(tag: string, markers: string): object {
  return { model: "sim-small", messages: [{ role: "user", content: `${tag} ${markers}` }], max_tokens: MAX_TOKENS };
}

function ask(
  host: HostUnderTest,
  { key }: Pick<TestAccount, "key">,
  body: object,
  path = "/v1/chat/completions",
): Promise<WireAnswer> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return sendHttp(host.url, { path, body: JSON.stringify(body), headers });
}

/** The hold of one such request. */
async function holdOf(host: HostUnderTest, body: object): Promise<number> {
  const account = await host.account(USD);
  const answer = await ask(host, account, body);
  assert.equal(answer.status, 200, answer.text);
  return (await settledOne(host, account.address)).receipt.heldNanoUsd;
}

/** The answers by code, `200` for the good ones; every other one is an error of the table. */
function tally(answers: readonly WireAnswer[], statuses: Record<string, number>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const answer of answers) {
    const code = answer.status === 200 ? "200" : (JSON.parse(answer.text) as { error: { code: string } }).error.code;
    counts[code] = (counts[code] ?? 0) + 1;
    if (code === "200") continue;
    const status = statuses[code];
    assert.ok(status !== undefined, `not expected: ${answer.text}`);
    assertError(answer, status, code);
    if (code === "budget_reserved" || code === "ceiling_reserved")
      assert.match(answer.headers["retry-after"] ?? "", /^[1-5]$/);
  }
  return counts;
}

/** The most of these requests that the provider had at one time. */
function mostAtOnce(host: HostUnderTest, tag: string): number {
  const moments = providerRecords(host, tag).flatMap(({ receivedAtMs, finishedAtMs }) => [
    { at: receivedAtMs, change: 1 },
    { at: finishedAtMs ?? Number.POSITIVE_INFINITY, change: -1 },
  ]);
  // A request that ends in the millisecond of another's begin counts as ended.
  moments.sort((a, b) => a.at - b.at || a.change - b.change);
  let now = 0;
  let most = 0;
  for (const { change } of moments) {
    now += change;
    most = Math.max(most, now);
  }
  return most;
}

/** Asks at once. Admitted requests are answered when all others have been refused. */
async function askTogether(
  host: HostUnderTest,
  account: TestAccount,
  { tag, asked, admitted }: { tag: string; asked: number; admitted: number },
): Promise<WireAnswer[]> {
  let refused = 0;
  const answers = times(asked, async () => {
    const answer = await ask(host, account, bodyOf(tag, `[[gate=${tag}]]`));
    refused += 1;
    return answer;
  });
  await eventually(() => refused >= asked - admitted && providerRecords(host, tag).length >= admitted);
  host.simulator.simulator.gate(tag).resolve();
  return answers;
}

function times<T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => make(index)));
}

const ownStatuses = {
  insufficient_balance: 402,
  key_limit_exceeded: 402,
  budget_reserved: 429,
  too_many_in_flight: 429,
};

const ceilingStatuses = {
  ...ownStatuses,
  request_too_expensive: 400,
  daily_cap_reached: 503,
  ceiling_reserved: 503,
};

const everyRoute: readonly [path: string, body: object][] = [
  ["/chat/completions", { model: "sim-small", messages: [{ role: "user", content: "x" }] }],
  ["/chat/completions", { model: "sim-small", messages: [{ role: "user", content: "x" }], stream: true }],
  ["/embeddings", { model: "sim-embedding", input: "x" }],
  ["/images/generations", { model: "sim-image", prompt: "x" }],
  ["/image/generate", { model: "sim-image", prompt: "x" }],
  ["/audio/speech", { model: "sim-speech", input: "x" }],
].flatMap(([path, body]): [string, object][] => [
  [`/v1${path as string}`, body as object],
  [`/api/v1${path as string}`, body as object],
]);

/** The limits of an account and of a key. */
export function testLimits(start: StartHost): void {
  describe("a balance", () => {
    const host = hostFor(start, {}, { simulator: { errorBudget: null } });

    test("of which each of 64 requests at once needs 60 % pays for one at a time", async () => {
      const body = bodyOf("sixty", "[[delay=30]]");
      const hold = await holdOf(host, body);
      host.simulator.simulator.records.clear();
      const account = await host.account(Math.ceil(hold / 0.6));
      for (let round = 0; round < (isDeep ? 3 : 1); round++) {
        const counts = tally(await times(64, () => ask(host, account, body)), ownStatuses);
        assert.ok((counts["200"] ?? 0) >= 1, JSON.stringify(counts));
      }
      assert.equal(mostAtOnce(host, "sixty"), 1);
      const all = await settledOf(host, account.address);
      await checkAccount(host, account.address, all);
      const { settledNanoUsd } = await host.balance(account.address);
      assert.equal(settledNanoUsd, sum(providerRecords(host, "sixty").map(billed)));
    });

    test("of which each of 64 requests at once uses up 60 % pays for one, ever", async () => {
      const body = bodyOf("spent", COSTS_ITS_HOLD);
      const hold = await holdOf(host, body);
      host.simulator.simulator.records.clear();
      const account = await host.account(Math.ceil(hold / 0.6));
      const counts = tally(await times(64, () => ask(host, account, body)), ownStatuses);
      assert.equal(counts["200"], 1, JSON.stringify(counts));
      assert.equal(providerRecords(host, "spent").length, 1);
      assert.deepEqual(tally([await ask(host, account, body)], ownStatuses), { insufficient_balance: 1 });
      assert.equal((await host.balance(account.address)).settledNanoUsd, hold);
    });

    test("is spent to its last nano-dollar, and not beyond", async () => {
      const body = bodyOf("exact", COSTS_ITS_HOLD);
      const hold = await holdOf(host, body);
      const account = await host.account(3 * hold);
      const short = await host.account(3 * hold - 1);
      for (const [payer, affordable] of [
        [account, 3],
        [short, 2],
      ] as const) {
        const answers: WireAnswer[] = [];
        for (let request = 0; request < 5; request++) answers.push(await ask(host, payer, body));
        assert.equal(tally(answers, ownStatuses)["200"], affordable);
      }
      assert.deepEqual(await host.balance(account.address).then(({ availableNanoUsd }) => availableNanoUsd), 0);
      assert.equal((await host.balance(short.address)).availableNanoUsd, hold - 1);
    });

    test("has at most 32 requests in flight", async () => {
      const account = await host.account(100 * USD);
      const answers = await askTogether(host, account, { tag: "flight", asked: 48, admitted: 32 });
      const counts = tally(answers, ownStatuses);
      assert.deepEqual(counts, { "200": 32, too_many_in_flight: 16 });
      assert.equal(mostAtOnce(host, "flight"), 32);
      assert.equal((await ask(host, account, bodyOf("flight", ""))).status, 200, "and then again");
    });

    for (const window of isDeep ? dollarWindows : (["day"] as const)) {
      test(`a key's limit for a ${window} holds under 64 requests at once`, async () => {
        const tag = `limit-${window}`;
        const hold = await holdOf(host, bodyOf(tag, COSTS_ITS_HOLD));
        host.simulator.simulator.records.clear();
        const limitNanoUsd = 5 * hold + Math.floor(hold / 2);
        const account = await host.account(100 * USD, { window, limitNanoUsd });
        const bound = bodyOf(tag, `${COSTS_ITS_HOLD}[[delay=20]]`);
        const answers = await times(64, () => ask(host, account, bound));
        const counts = tally(answers, ownStatuses);
        assert.ok((counts["200"] ?? 0) <= 5, JSON.stringify(counts));
        assert.ok(mostAtOnce(host, tag) <= 5);
        const last = await ask(host, account, { ...bound, max_tokens: 16_384 });
        const { metadata } = assertError(last, 402, "key_limit_exceeded");
        assert.equal(metadata?.window, window);
        const ends = windowEnd(window, host.now());
        assert.equal(metadata?.resets_at, ends === null ? undefined : new Date(ends).toISOString());
        const all = await settledOf(host, account.address);
        await checkAccount(host, account.address, all);
        const [key] = await host.rows("key", accountPartition(account.address));
        const view = await host.read(accountPartition(account.address), {
          type: "key",
          at: host.now(),
          keyId: key?.id ?? "",
        });
        const { settledNanoUsd = 0, heldNanoUsd } = view?.budget ?? {};
        assert.equal(heldNanoUsd, 0);
        assert.ok(settledNanoUsd <= limitNanoUsd);
        assert.equal(settledNanoUsd, (await host.balance(account.address)).settledNanoUsd);
      });
    }

    test("is one for all of an account's keys", async () => {
      const body = bodyOf("shared", COSTS_ITS_HOLD);
      const hold = await holdOf(host, body);
      const account = await host.account(2 * hold);
      const payers = [account, await host.addKey(account.address)];
      const answers = await times(40, (index) => ask(host, payers[index % 2] ?? account, body));
      assert.ok((tally(answers, ownStatuses)["200"] ?? 0) <= 2);
      assert.ok((await host.balance(account.address)).settledNanoUsd <= 2 * hold);
    });
  });
}

/** The requests that are refused once the day's ceiling is used, or with nothing to spend. */
export function testCeiling(start: StartHost): void {
  describe("the day's ceiling", () => {
    // All of it is its own.
    const host = hostFor(start, { fresh: true }, { simulator: { errorBudget: null } });
    const setCeiling = (limitNanoUsd: number): Promise<unknown> =>
      host.put(ceilingPartition, { type: "setCeiling", limitNanoUsd });
    /** Where the ceiling is taken in pieces, accounts give back what they do not use a minute later. */
    const lower = async (): Promise<void> => {
      await host.goTo(host.now() + 61_000);
      await host.forget([...host.accounts].map(accountPartition));
    };
    const ceilingView = () => host.read(ceilingPartition, { type: "ceiling", at: host.now() });
    let hold = 0;
    before(async () => {
      const account = await host.account(USD);
      const answer = await ask(host, account, bodyOf("first", `${COSTS_ITS_HOLD}[[delay=100]]`));
      assert.equal(answer.status, 200);
      hold = (await settledOne(host, account.address)).receipt.heldNanoUsd;
    });

    test("leaves one account a fifth at a time: more than that in one request is refused with what would fit", async () => {
      await setCeiling(6 * hold);
      const account = await host.account(100 * USD);
      const body = { ...bodyOf("share", ""), max_tokens: 4_000 };
      const { metadata } = assertError(await ask(host, account, body), 400, "request_too_expensive");
      const affordable = Number(metadata?.max_affordable_tokens);
      assert.equal(metadata?.available_nano_usd, Math.floor((6 * hold) / 5));
      assert.ok(affordable >= 1_000 && affordable < 4_000, String(affordable));
      const more = await ask(host, account, { ...body, max_tokens: affordable + 1 });
      assertError(more, 400, "request_too_expensive");
      assert.equal((await ask(host, account, { ...body, max_tokens: affordable })).status, 200);
    });

    test("leaves one account a fifth at a time: what its own requests hold of it is in the way", async () => {
      await lower();
      const { settledNanoUsd } = await ceilingView();
      await setCeiling(settledNanoUsd + 20 * hold);
      const account = await host.account(100 * USD);
      const share = Math.floor((settledNanoUsd + 20 * hold) / 5 / hold);
      const answers = await askTogether(host, account, { tag: "held", asked: 16, admitted: share });
      const counts = tally(answers, ceilingStatuses);
      assert.deepEqual(counts, { "200": share, too_many_in_flight: 16 - share });
      assert.equal(mostAtOnce(host, "held"), share);
    });

    test("holds under many accounts at once, and is settled to the nano-dollar", async () => {
      await lower();
      const { settledNanoUsd: before } = await ceilingView();
      const room = 10 * hold + Math.floor(hold / 2);
      await setCeiling(before + room);
      const payers = await times(CROWD, () => host.account(100 * USD));
      const body = bodyOf("crowd", `${COSTS_ITS_HOLD}[[delay=100]]`);
      const first = tally(
        await times(3 * CROWD, (index) => ask(host, payers[index % CROWD] as TestAccount, body)),
        ceilingStatuses,
      );
      assert.ok((first.ceiling_reserved ?? 0) > 0, JSON.stringify(first));
      assert.ok((first["200"] ?? 0) >= 1 && (first["200"] ?? 0) <= 10, JSON.stringify(first));
      assert.ok(mostAtOnce(host, "crowd") <= 10);
      let good = first["200"] ?? 0;
      for (let round = 0; round < 20 && good < 10; round++) {
        await lower();
        const counts = tally(
          await times(12, (index) => ask(host, payers[index] as TestAccount, body)),
          ceilingStatuses,
        );
        good += counts["200"] ?? 0;
      }
      assert.equal(good, 10);
      await lower();
      const { settledNanoUsd, heldNanoUsd } = await ceilingView();
      assert.deepEqual([settledNanoUsd - before, heldNanoUsd], [10 * hold, 0]);
      const last = await times(CROWD, (index) => ask(host, payers[index] as TestAccount, body));
      assert.deepEqual(tally(last, ceilingStatuses), { daily_cap_reached: CROWD });
      const [answer] = last;
      assert.ok(answer !== undefined);
      const { metadata } = assertError(answer, 503, "daily_cap_reached");
      assert.equal(metadata?.resets_at, new Date(windowEnd("day", host.now()) ?? 0).toISOString());
      assert.equal(providerRecords(host, "crowd").length, 10, "what was refused was forwarded");
      const charged = await checkSums(host);
      assert.equal(charged, settledNanoUsd);
    });

    test("that is lowered below what is settled admits nothing, on no route", async () => {
      await setCeiling(0);
      const account = await host.account(100 * USD);
      const seen = host.simulator.simulator.records.select(() => true, 100_000).length;
      for (const [path, body] of everyRoute)
        assertError(await ask(host, account, body, path), 503, "daily_cap_reached");
      assert.equal(host.simulator.simulator.records.select(() => true, 100_000).length, seen);
    });
  });

  describe("with nothing to spend", () => {
    const host = hostFor(start);
    before(() => host.simulator.simulator.records.clear());
    const forwarded = (): number => host.simulator.simulator.records.select(() => true, 1_000).length;

    test("no route reaches the provider", async () => {
      const account = await host.account(0);
      for (const [path, body] of everyRoute)
        assertError(await ask(host, account, body, path), 402, "insufficient_balance");
      assert.equal(forwarded(), 0);
    });

    test("a session of an identity without capacity reaches the provider on no route", async () => {
      const address = "0x00000000000000000000000000000000000000aa";
      const session = { key: await host.openSession(address) };
      await grantCapacity(host, address, 0);
      host.simulator.simulator.records.clear();
      for (const [path, body] of everyRoute)
        assertError(await ask(host, session, body, path), 402, "capacity_exhausted");
      assert.equal(forwarded(), 0);
    });
  });
}
