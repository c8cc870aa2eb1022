import assert from "node:assert/strict";
import { test } from "node:test";
import { hostFor } from "@inference/gateway/test/host-for";
import { STAYED_MS } from "@inference/ledger/limits";
import { accountPartition, ceilingPartition } from "@inference/ledger/partition";
import type { CounterRow, ReceiptRow } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import { eventually } from "@inference/protocol/testing/eventually";
import { DAY_MS, utcDay, windowStart } from "@inference/protocol/window";
import { startEdge } from "./testing/edge.ts";
import { endHolds, openHolds } from "./testing/open-holds.ts";

/**
 * The day's ceiling under many accounts at once: never exceeded, and all but what may stay of it usable once allowances
 * that nobody uses were lowered, across midnight and through a `kill -9`. All want a tenth more each day than there is.
 */
const [ACCOUNTS, STREAMS_EACH, CUT] = [200, 50, 32];
const STREAMS = ACCOUNTS * STREAMS_EACH;
const AT_ONCE = 32;
/** Less what may stay, and what the last requests hold. */
const USABLE = 0.9;
/** How often one stream asks again while the ledger is unavailable. A test turns the clock a few times. */
const MOST_UNAVAILABLE = 10;

const wallets = Array.from(
  { length: ACCOUNTS },
  (_, index): Address => `0x${(index + 1).toString(16).padStart(40, "0")}`,
);
const accounts = wallets.map(accountPartition);
const keys: string[] = [];

const edge = hostFor(() => startEdge());

const count = { served: 0, refused: 0, broken: 0, againLater: 0 };

const SLOWLY = "[[prompt=400]][[tokens=10]][[drip=800]]";

let lowering: Promise<void> | undefined;

/** A minute later each account has given back what it was allowed and did not use. */
async function lowerAll(): Promise<void> {
  await edge.goTo(edge.now() + 61_000);
  await Promise.all(accounts.map((account) => edge.object(account, "work")));
  lowering = undefined;
}

/** One stream of an account. It waits where the rest of the ceiling is only held. */
async function stream(index: number, content = "[[prompt=400]][[tokens=10]]"): Promise<void> {
  const body = { stream: true, max_tokens: 10, messages: [{ role: "user", content }] };
  for (let unavailable = 0; ; ) {
    const response = await edge.chat(keys[index % ACCOUNTS] ?? "", body).catch(() => undefined);
    const text = await response?.text().catch(() => undefined);
    if (text === undefined) count.broken += 1;
    else if (text.endsWith("data: [DONE]\n\n")) count.served += 1;
    else if (text.includes('"daily_cap_reached"')) count.refused += 1;
    else if (/"(ceiling_reserved|budget_reserved|too_many_in_flight)"/.test(text)) {
      count.againLater += 1;
      lowering ??= lowerAll();
      await lowering;
      continue;
    } else if (text.includes('"ledger_unavailable"') && unavailable < MOST_UNAVAILABLE) {
      // The clock was turned while it was being admitted.
      unavailable += 1;
      continue;
    } else assert.fail(`${response?.status} ${text}`);
    return;
  }
}

/** Streams by their numbers, so many at a time. */
async function streamAll(from: number, to: number, content?: string): Promise<void> {
  let next = from;
  async function client(): Promise<void> {
    while (next < to) await stream(next++, content);
  }
  await Promise.all(Array.from({ length: AT_ONCE }, client));
}

async function oneReceipt(): Promise<ReceiptRow> {
  const body = { max_tokens: 10, messages: [{ role: "user", content: "[[prompt=400]][[tokens=10]]" }] };
  const { status } = await edge.chat(keys[0] ?? "", body);
  assert.equal(status, 200);
  const [receipt] = (await edge.object(accounts[0] ?? "", "rows", accounts[0], "receipt")) as ReceiptRow[];
  assert.ok(receipt !== undefined);
  return receipt;
}

/** Looks at the ceiling until it is told to stop; answers how often. */
function watch(ceilingNanoUsd: number): () => Promise<number> {
  let isOver = false;
  async function look(): Promise<number> {
    let looks = 0;
    for (; !isOver; looks += 1) {
      const { settledNanoUsd, heldNanoUsd } = await edge.read(ceilingPartition, { type: "ceiling", at: edge.now() });
      assert.ok(settledNanoUsd + heldNanoUsd <= ceilingNanoUsd, `${settledNanoUsd} and ${heldNanoUsd} exceed it`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return looks;
  }
  const looking = look();
  return () => {
    isOver = true;
    return looking;
  };
}

async function held(): Promise<number> {
  return (await Promise.all(accounts.map((account) => openHolds(edge, account)))).flat().length;
}

test(`${ACCOUNTS} accounts at once never exceed the ceiling, and use it up, across midnight and through a kill`, async () => {
  for (const { key } of await Promise.all(wallets.map((wallet) => edge.account(1_000_000_000, { address: wallet }))))
    keys.push(key);
  const midnight = windowStart("day", edge.now()) + DAY_MS;
  await edge.goTo(midnight - DAY_MS / 4);
  const { chargeNanoUsd, heldNanoUsd } = await oneReceipt();
  const ceilingNanoUsd = Math.round(((chargeNanoUsd * STREAMS) / 2) * 0.9);
  const lowNanoUsd = ceilingNanoUsd - heldNanoUsd;
  await edge.put(ceilingPartition, { type: "setCeiling", limitNanoUsd: lowNanoUsd });

  let stopWatching = watch(lowNanoUsd);
  await streamAll(0, STREAMS / 4);
  let looks = await stopWatching();
  await lowerAll();
  const { settledNanoUsd } = await edge.read(ceilingPartition, { type: "ceiling", at: edge.now() });
  // All of them are admitted at once: none asks again while the process is dead.
  const most = Math.min(CUT, Math.floor((lowNanoUsd - settledNanoUsd) / heldNanoUsd));
  const cut = streamAll(STREAMS / 4, STREAMS / 4 + most, SLOWLY);
  await eventually(async () => assert.ok((await held()) > most / 2));
  await edge.restart();
  await cut;
  assert.ok(count.broken > 0, "the kill cut off nothing");
  assert.ok((await held()) > 0, "the kill left no hold");
  await endHolds(edge, accounts);

  stopWatching = watch(ceilingNanoUsd);
  await streamAll(STREAMS / 4 + most, STREAMS / 2);
  // The ceiling is raised by one request, which runs across midnight and uses up the rest.
  await lowerAll();
  await edge.goTo(midnight - 5_000);
  await edge.put(ceilingPartition, { type: "setCeiling", limitNanoUsd: ceilingNanoUsd });
  const across = stream(0, SLOWLY);
  await eventually(async () => assert.ok((await held()) > 0, "it is admitted"));
  await edge.goTo(midnight + 1_000);
  await streamAll(STREAMS / 2, STREAMS - 1);
  await across;
  looks += await stopWatching();
  await endHolds(edge, accounts);
  console.log(`${JSON.stringify(count)}, seen ${looks} times`);
  assert.equal(count.served + count.refused + count.broken, STREAMS);
  assert.ok(count.refused > 0, "there was enough for everybody");

  await edge.goTo(midnight + DAY_MS + STAYED_MS + 2 * 60_000);
  await Promise.all(accounts.map((account) => edge.object(account, "work")));
  const shares = await checkBooks(midnight, ceilingNanoUsd);
  console.log(`used of the ceiling: ${shares.map((share) => `${(100 * share).toFixed(1)} %`).join(", ")}`);
  for (const share of shares) assert.ok(share <= 1 && share >= USABLE, `${share} of the ceiling was used`);
});

/** Accounts and ceiling say the same. Answers what of the ceiling was used, before midnight and after. */
async function checkBooks(midnight: number, ceilingNanoUsd: number): Promise<number[]> {
  const receipts = (
    await Promise.all(accounts.map((account) => edge.object(account, "rows", account, "receipt")))
  ).flat();
  const days = [midnight - DAY_MS, midnight];
  const counters = (await edge.object(ceilingPartition, "rows", ceilingPartition, "counter")) as CounterRow[];
  const ofDay = new Map(days.map((day) => [utcDay(day), 0]));
  const across: string[] = [];
  for (const { id, admittedAt, resolvedAt, chargeNanoUsd } of receipts as ReceiptRow[]) {
    const day = utcDay(admittedAt);
    ofDay.set(day, (ofDay.get(day) ?? 0) + chargeNanoUsd);
    if (resolvedAt === null || utcDay(resolvedAt) !== day) across.push(id);
  }
  assert.ok(across.length > 0, "no stream ran across midnight");
  assert.equal(ofDay.size, days.length);
  for (const day of days) {
    const settledNanoUsd = ofDay.get(utcDay(day)) ?? 0;
    const counter = counters.find(({ id }) => id === `ceiling@${day}`);
    assert.deepEqual([counter?.settledNanoUsd, counter?.heldNanoUsd], [settledNanoUsd, 0]);
  }
  for (const account of accounts) {
    assert.equal((await edge.read(account, { type: "balance", at: edge.now() })).heldNanoUsd, 0);
  }
  return days.map((day) => (ofDay.get(utcDay(day)) ?? 0) / ceilingNanoUsd);
}
