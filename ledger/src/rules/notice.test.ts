import assert from "node:assert/strict";
import { test } from "node:test";
import type { Commands, Notice } from "../messages/commands.ts";
import { accountPartition, agentPartition } from "../messages/partition.ts";
import { answer } from "../messages/reads.ts";
import {
  account,
  admit,
  chain,
  createKey,
  type Example,
  hear,
  makeExample,
  midnight,
  noon,
  reserve,
  settle,
} from "../testing/example.ts";
import { MAX_NOTICES, NOTICE_LOG_MS, NOTICE_WAITS_MS } from "./limits.ts";

type SetWebhook = Commands["setWebhook"]["command"];

function webhook(id: string, terms: Partial<SetWebhook> = {}): SetWebhook {
  const events = ["balance.low", "key.limit_near", "key.limit_reached", "credit.added", "offer.ended"] as const;
  return { type: "setWebhook", at: noon, id, url: "https://a.example/", events, thresholdNanoUsd: null, ...terms };
}

const noticesOf = (host: Example) => answer(host.rows(account), { type: "webhooks" }).notices;
/** The events, with the figure that tells them apart. */
const told = (host: Example) => noticesOf(host).map(({ event }) => figureOf(event));

function figureOf(event: Notice["event"]): string {
  if (event.type === "balance.low") return `${event.type} ${event.balanceNanoUsd}`;
  if (event.type === "credit.added") return `${event.type} ${event.amountNanoUsd}`;
  if (event.type === "offer.ended") return `${event.type} ${event.reason}`;
  return `${event.type} ${event.window} ${event.usedNanoUsd} of ${event.limitNanoUsd}`;
}

let requests = 0;

/** One request that is charged so much, under a key. */
function spend(host: Example, chargeNanoUsd: number, key = "key1"): void {
  requests += 1;
  const id = `r${requests}`;
  const at = host.clock.now;
  const payer = { kind: "key", digest: `digest of ${key}` } as const;
  assert.equal(admit(host, account, reserve(id, chargeNanoUsd, { at, payer })).status, "reserved");
  assert.equal(host.apply(account, { ...settle(id, chargeNanoUsd), at }).status, "settled");
}

test("a balance that falls below the threshold is told once, and again after a credit lifted it", () => {
  const host = makeExample({ balance: 1_000 });
  host.apply(account, webhook("a", { events: ["balance.low"], thresholdNanoUsd: 500 }));
  spend(host, 500);
  assert.deepEqual(told(host), [], "at the threshold it is not below");
  spend(host, 1);
  spend(host, 1);
  assert.deepEqual(told(host), ["balance.low 499"]);
  host.apply(account, hear(1_100));
  spend(host, 200);
  assert.deepEqual(told(host), ["balance.low 499", "balance.low 398"]);
});

test("of 32 requests that end at once, the one that crosses the threshold is told, and told again it stays one", () => {
  const host = makeExample({ balance: 3_200 });
  host.apply(account, webhook("a", { events: ["balance.low"], thresholdNanoUsd: 1_000 }));
  for (let n = 0; n < 32; n += 1) admit(host, account, reserve(`c${n}`, 100));
  for (let n = 0; n < 32; n += 1) {
    host.apply(account, settle(`c${n}`, 100));
    host.apply(account, settle(`c${n}`, 100));
  }
  assert.deepEqual(told(host), ["balance.low 900"]);
});

test("a key's limit is told at 80 % and at its end, once a window, each limit by itself", () => {
  const host = makeExample({ balance: 100_000 });
  host.apply(account, webhook("a"));
  const limits = [{ unit: "nano_usd", window: "month", most: 1_000 } as const];
  host.apply(account, createKey("key2", { window: "day", limitNanoUsd: 100, limits }));
  spend(host, 79, "key2");
  assert.deepEqual(told(host), []);
  spend(host, 1, "key2");
  spend(host, 19, "key2");
  assert.deepEqual(told(host), ["key.limit_near day 80 of 100"]);
  spend(host, 1, "key2");
  host.clock.now = midnight;
  spend(host, 100, "key2");
  assert.deepEqual(told(host).slice(1), ["key.limit_reached day 100 of 100", "key.limit_reached day 100 of 100"]);
  assert.equal(new Set(noticesOf(host).map(({ id }) => id)).size, 3, "another window has another id");
});

test("a limit that refuses a request near its end is told once, and one that refuses a request far from it is not", () => {
  const host = makeExample({ balance: 100_000 });
  host.apply(account, webhook("a", { events: ["key.limit_reached"] }));
  host.apply(account, createKey("key2", { window: "day", limitNanoUsd: 100 }));
  const payer = { kind: "key", digest: "digest of key2" } as const;
  assert.equal(admit(host, account, reserve("far", 101, { payer })).status, "refused");
  spend(host, 79, "key2");
  assert.equal(admit(host, account, reserve("far2", 22, { payer })).status, "refused");
  assert.deepEqual(told(host), []);
  spend(host, 16, "key2");
  for (const id of ["near", "near2"]) assert.equal(admit(host, account, reserve(id, 6, { payer })).status, "refused");
  spend(host, 5, "key2");
  assert.deepEqual(told(host), ["key.limit_reached day 95 of 100"]);
});

test("a limit that is lowered again and again is told once as reached", () => {
  const host = makeExample({ balance: 100_000 });
  host.apply(account, webhook("a", { events: ["key.limit_reached"] }));
  host.apply(account, createKey("key2", { window: "day", limitNanoUsd: 100 }));
  const payer = { kind: "key", digest: "digest of key2" } as const;
  spend(host, 90, "key2");
  for (const limitNanoUsd of [100, 99, 98]) {
    assert.equal(host.apply(account, { type: "updateKey", keyId: "key2", limitNanoUsd }).status, "updated");
    assert.equal(admit(host, account, reserve(`at ${limitNanoUsd}`, 11, { payer })).status, "refused");
  }
  assert.deepEqual(told(host), ["key.limit_reached day 90 of 100"]);
});

test("a credit is told once, whether it is heard early, again or as final", () => {
  const host = makeExample({ balance: 1_000 });
  host.apply(account, webhook("a"));
  for (const total of [1_500, 1_500, 1_200, 1_600]) host.apply(account, hear(total));
  assert.deepEqual(told(host), ["credit.added 500", "credit.added 100"]);
});

test("another reading of the chain tells no credit and no low balance, and misses none that is due", () => {
  const host = makeExample({ balance: 10 });
  host.apply(account, hear(100));
  host.apply(account, webhook("a", { thresholdNanoUsd: 50 }));
  // Its first page has the first activation alone.
  const reread = { replay: 2, epoch: null };
  host.apply(account, hear(10, reread));
  spend(host, 9);
  host.apply(account, hear(60, reread));
  spend(host, 5);
  host.apply(account, hear(100, reread));
  assert.deepEqual(told(host), []);
  host.apply(account, hear(10, { ...reread, replay: 3 }));
  host.apply(account, hear(63, { ...reread, replay: 3 }));
  spend(host, 37);
  assert.deepEqual(told(host), ["balance.low 49"]);
  host.apply(account, hear(100, { ...reread, replay: 3 }));
  host.apply(account, hear(130, { ...reread, replay: 3 }));
  assert.deepEqual(told(host), ["balance.low 49", "credit.added 30"]);
});

test("the end of an agent's offer reaches the account of the wallet that owned it, once", () => {
  const host = makeExample();
  host.apply(account, webhook("a"));
  const agent = agentPartition(`0x${"a".repeat(40)}`);
  const offer = { day: 0, shareBps: 5_000, computer: "", owner: `0x${"1".repeat(40)}` };
  host.apply(agent, { type: "setOffer", at: noon, ...offer, hash: "0x01", nonce: 1 });
  for (let n = 0; n < 2; n += 1) host.apply(agent, { type: "endOffer", at: noon, hash: "0x01" });
  host.apply(agent, { type: "setOffer", at: noon, ...offer, hash: "0x02", nonce: 2 });
  host.apply(agent, { type: "setOffer", at: noon, ...offer, hash: "0x03", nonce: 3 });
  assert.equal(host.outbox().length, 1, "a replaced offer has not ended");
  host.apply(agent, { type: "setOffer", at: noon, ...offer, hash: "0x04", nonce: 4, shareBps: 0 });
  for (const delivery of host.outbox()) host.deliver(delivery, { acknowledge: false });
  host.deliverAll();
  assert.deepEqual(told(host), ["offer.ended agent_changed", "offer.ended withdrawn"]);
  assert.deepEqual(host.rows(accountPartition(`0x${"2".repeat(40)}`)).list("account", { limit: 9 }), []);
});

test("a failed notice is tried eight times within a day with its id, and its webhook's others wait for it", () => {
  const host = makeExample({ balance: 1_000 });
  host.apply(account, webhook("a", { events: ["credit.added"] }));
  host.apply(account, webhook("b", { events: ["credit.added"] }));
  host.apply(account, hear(1_001));
  host.apply(account, hear(1_002));
  const [first, other, second] = noticesOf(host);
  assert.deepEqual([first?.webhook, other?.webhook, second?.webhook], ["a", "b", "a"]);
  const id = first?.id ?? "";
  let at = noon;
  for (const wait of NOTICE_WAITS_MS) {
    host.apply(account, { type: "noteTries", at, tries: [{ id, isDelivered: false, result: "500" }] });
    const next = noticesOf(host).map(({ nextAt }) => nextAt);
    assert.deepEqual(next, [at + wait, noon, at + wait, noon]);
    at += wait;
  }
  host.apply(account, { type: "noteTries", at, tries: [{ id, isDelivered: false, result: "timeout" }] });
  const { tries, nextAt, isDelivered, result } = noticesOf(host)[0] as Notice;
  assert.deepEqual([tries, nextAt, isDelivered, result], [8, null, false, "timeout"]);
  assert.ok(at - noon < 24 * 3_600_000);
});

test("a delivered notice stays in the log for a week, and the account is due when it ends", async () => {
  const host = makeExample({ balance: 1_000 });
  host.apply(account, webhook("a", { events: ["credit.added"] }));
  host.apply(account, hear(1_001));
  const page = { after: null, limit: 9 };
  assert.deepEqual(await host.due("account", noon, page), [account]);
  const tries = noticesOf(host).map(({ id }) => ({ id, isDelivered: true, result: "204" }));
  host.apply(account, { type: "noteTries", at: noon, tries });
  assert.deepEqual(await host.due("account", noon + NOTICE_LOG_MS - 1, page), []);
  assert.deepEqual(await host.due("account", noon + NOTICE_LOG_MS, page), [account]);
  host.apply(account, { type: "noteTries", at: noon + NOTICE_LOG_MS, tries: [] });
  assert.deepEqual([noticesOf(host), await host.due("account", Number.MAX_SAFE_INTEGER, page)], [[], []]);
});

test("a removed webhook takes its notices along, and what was tried meanwhile changes nothing", () => {
  const host = makeExample({ balance: 1_000 });
  for (const id of ["a", "b", "c"]) assert.equal(host.apply(account, webhook(id)).status, "set");
  assert.equal(host.apply(account, webhook("d")).status, "too_many");
  host.apply(account, hear(1_001));
  const [first] = noticesOf(host);
  assert.equal(host.apply(account, { type: "removeWebhook", id: "a" }).status, "removed");
  assert.equal(host.apply(account, { type: "removeWebhook", id: "a" }).status, "unknown");
  const tries = [{ id: first?.id ?? "", isDelivered: false, result: "500" }];
  host.apply(account, { type: "noteTries", at: noon, tries });
  assert.deepEqual(
    noticesOf(host).map(({ webhook, nextAt }) => [webhook, nextAt]),
    [
      ["b", noon],
      ["c", noon],
    ],
  );
  for (const id of ["b", "c"]) host.apply(account, { type: "removeWebhook", id });
  assert.equal(host.rows(account).get("account", "account")?.dueAt, null);
});

test("an account keeps its last notices, and drops those that are over first", () => {
  const host = makeExample({ balance: 1 });
  host.apply(account, webhook("a", { events: ["credit.added"] }));
  for (let n = 2; n < 12; n += 1) host.apply(account, hear(n));
  const [, second] = noticesOf(host);
  host.apply(account, {
    type: "noteTries",
    at: noon,
    tries: [{ id: second?.id ?? "", isDelivered: true, result: "200" }],
  });
  for (let n = 12; n < MAX_NOTICES + 3; n += 1) host.apply(account, hear(n));
  const ids = noticesOf(host).map(({ id }) => id);
  assert.equal(ids.length, MAX_NOTICES);
  assert.deepEqual([ids[0], ids[1], ids.at(-1)], ["a_credit_2", "a_credit_4", `a_credit_${MAX_NOTICES + 2}`]);
});

test("an event that keeps coming drops none of another type that is yet to be sent", () => {
  const host = makeExample({ balance: 100 });
  host.apply(account, webhook("a", { thresholdNanoUsd: 50 }));
  spend(host, 60);
  for (let n = 0; n < MAX_NOTICES + 3; n += 1) host.apply(account, hear(101 + n));
  const types = noticesOf(host).map(({ event }) => event.type);
  assert.deepEqual([types.length, types[0], types[1]], [MAX_NOTICES, "balance.low", "credit.added"]);
});

test("without a webhook nothing is noticed, and an account that never had a credit can set none", () => {
  const host = makeExample({ balance: 0 });
  const before = JSON.stringify(host.stored());
  assert.equal(host.apply(account, webhook("a")).status, "unpaid");
  assert.equal(JSON.stringify(host.stored()), before);
  host.apply(account, hear(1_000));
  spend(host, 900);
  assert.equal(host.rows(account).get("account", "account")?.notices, null);
  assert.equal(host.rows(chain).get("account", "account"), undefined);
});

test("an account keeps its webhooks when its last key is forgotten", () => {
  const host = makeExample({ balance: 1_000 });
  host.apply(account, webhook("a"));
  host.apply(account, { type: "revokeKey", at: noon, keyId: "key1" });
  host.clock.now = noon + 60 * 3_600_000;
  const { forgotten } = host.apply(account, { type: "forget", at: host.clock.now, table: "key", ids: ["key1"] });
  assert.equal(forgotten, 1);
  assert.equal(answer(host.rows(account), { type: "webhooks" }).webhooks.length, 1);
  host.apply(account, { type: "removeWebhook", id: "a" });
  assert.equal(host.rows(account).get("account", "account"), undefined);
});
