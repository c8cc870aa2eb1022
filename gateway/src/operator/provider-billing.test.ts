import assert from "node:assert/strict";
import { test } from "node:test";
import { makeProviderBilling } from "./provider-billing.ts";

const DAY = "2026-11-22";
const USD = 1_000_000_000;

type Page = (url: string, signal: AbortSignal) => Promise<{ status: number; text: string }>;

/** A reader of a record with one page, or of one that answers by itself. */
function open(page: object | Page, terms: { listsAll?: boolean; stopped?: AbortSignal } = {}) {
  const lines: unknown[] = [];
  const answer = async () => ({ status: 200, text: JSON.stringify(page) });
  const billing = makeProviderBilling(
    { url: "https://provider.example/charges?day={day}", key: "a-key" },
    {
      ...{ listsAll: true, listedOn: async () => 0, ...terms },
      log: (level, event, fields) => void lines.push([level, event, fields]),
      // It never fires.
      timers: { after: () => ({ cancel: () => undefined }) },
      provider: { billing: typeof page === "function" ? (page as Page) : answer },
    },
  );
  return { billing: billing ?? assert.fail("no billing"), lines };
}

test("a record without the day's charges, with more refunds than charges, or with a page that it does not name is unread", async () => {
  const charge = { timestamp: `${DAY}T10:00:00Z`, amount: -0.5 };
  const pages: [object, RegExp][] = [
    [{ data: [] }, /has no charge/],
    [{ data: [{ start_time: Date.parse(DAY) / 1_000, results: [] }] }, /has no charge/],
    [{ data: [charge, { ...charge, amount: 0.75 }] }, /refunds exceed/],
    [{ data: [charge], has_more: true }, /further page/],
    [{ data: [charge], nextCursor: 7 }, /further page/],
  ];
  for (const [page, why] of pages) {
    const { billing, lines } = open(page);
    assert.equal(await billing.chargedOn(DAY, USD), null, JSON.stringify(page));
    assert.match(JSON.stringify(lines), why);
    assert.match(JSON.stringify(lines), /"warn","provider_bill_unread"/);
  }
  assert.equal(await open({ data: [] }).billing.chargedOn(DAY, 0), 0, "a day without requests has no charge");
});

test("a bill below half of the list price is a warning, and a higher one an alert where all requests are listed", async () => {
  const page = { data: [{ date: DAY, usage: 0.5 }], has_more: false, nextCursor: null };
  const toldOf = async (listedNanoUsd: number, listsAll: boolean) => {
    const { billing, lines } = open(page, { listsAll });
    assert.equal(await billing.chargedOn(DAY, listedNanoUsd), USD / 2);
    return lines;
  };
  const drift = (driftNanoUsd: number) => ({ day: DAY, driftNanoUsd, listedNanoUsd: USD / 2 - driftNanoUsd });
  assert.deepEqual(await toldOf(USD, true), []);
  assert.deepEqual(await toldOf(2 * USD, false), [["warn", "provider_bill_low", drift(-1.5 * USD)]]);
  assert.deepEqual(await toldOf(USD / 4, true), [["alert", "provider_bill", drift(USD / 4)]]);
  assert.deepEqual(await toldOf(USD / 4, false), []);
});

test("a stop ends the reading of a record that does not come, without a word", async () => {
  const stop = new AbortController();
  const { billing, lines } = open(
    (_, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    { stopped: stop.signal },
  );
  const charged = billing.chargedOn(DAY, USD);
  stop.abort();
  assert.equal(await charged, null);
  assert.deepEqual(lines, []);
});
