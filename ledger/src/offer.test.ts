import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS, dayNumber } from "@inference/protocol/window";
import type { Commands, OfferName } from "./commands.ts";
import { askOwner } from "./follower.ts";
import { agentPartition, ceilingPartition } from "./partition.ts";
import { answer } from "./reads.ts";
import { reserveRequest } from "./reservation.ts";
import {
  account,
  bySession,
  type Example,
  makeExample,
  midnight,
  noon,
  openSession,
  release,
  reserve,
  settle,
} from "./testing/example.ts";

const token = `0x${"a".repeat(40)}` as const;
const agent = agentPartition(token);
const other = `0x${"b".repeat(40)}` as const;
const today = dayNumber(noon);
type SetOffer = Commands["setOffer"]["command"];

/** An agent with a capacity of 100 nano-dollars, half of which it sells, and an own session. */
function makeSeller(terms: Partial<SetOffer> = {}, capacity: number | null = 100): Example {
  const host = makeExample();
  host.apply(agent, openSession("session1"));
  if (capacity !== null) host.apply(agent, { type: "setCapacity", at: noon, limitNanoUsd: capacity });
  host.apply(agent, offer(terms));
  return host;
}

function offer(terms: Partial<SetOffer> = {}): SetOffer {
  const signed = { hash: "h1", day: 0, shareBps: 5_000, nonce: 1, computer: "0xc", owner: "0xd" };
  return { type: "setOffer", at: noon, ...signed, ...terms };
}

function sale(id: string, amountNanoUsd: number, more: Partial<Commands["reserveOffer"]["command"]> = {}) {
  const terms = { at: noon, amountNanoUsd, leaseMs: 900_000, owner: account, offer: "h1" };
  return { type: "reserveOffer", id, ...terms, ...more } as const;
}

const view = (host: Example, at = noon) => answer(host.rows(agent), { type: "offer", at });
const left = (host: Example, at = noon) => view(host, at).leftNanoUsd;

test("an offer sells its share of the day's capacity, rounded down, and not a nano-dollar more", () => {
  const host = makeSeller({ shareBps: 3_333 }, 9_000_000_000_000_000);
  const share = 2_999_700_000_000_000;
  assert.equal(view(host).limitNanoUsd, share);
  assert.equal(host.apply(agent, sale("r1", share + 1)).status, "refused");
  assert.equal(host.apply(agent, sale("r2", share)).status, "reserved");
  assert.equal(host.apply(agent, sale("r3", 1)).status, "refused");
  assert.equal(view(makeSeller({ shareBps: 9_999 }, 9_999)).limitNanoUsd, 9_998);
});

test("own use takes all that is not sold, and a sale only what own use leaves", () => {
  const host = makeSeller();
  assert.equal(host.apply(agent, sale("r1", 30)).status, "reserved");
  assert.equal(host.apply(agent, reserve("own1", 71, bySession)).status, "refused");
  assert.equal(host.apply(agent, reserve("own1", 70, bySession)).status, "reserved");
  assert.equal(answer(host.rows(agent), { type: "capacity", at: noon }).availableNanoUsd, 0);
  assert.equal(host.apply(agent, sale("r2", 1)).status, "refused");
  host.apply(agent, settle("own1", 60));
  assert.deepEqual([left(host), view(host).ownNanoUsd], [10, 60]);
  assert.equal(host.apply(agent, sale("r3", 10)).status, "reserved");
});

test("before the day's capacity is known nothing is sold, and the next day begins anew", () => {
  const host = makeSeller({}, null);
  assert.deepEqual([view(host).capacityNanoUsd, left(host)], [null, 0]);
  assert.equal(host.apply(agent, sale("r1", 1)).status, "refused");
  host.apply(agent, { type: "setCapacity", at: noon, limitNanoUsd: 100 });
  assert.equal(host.apply(agent, sale("r1", 50)).status, "reserved");
  host.clock.now = midnight;
  assert.equal(left(host, midnight), 0);
  assert.equal(host.apply(agent, sale("r2", 1, { at: midnight })).status, "refused");
  host.apply(agent, { type: "setCapacity", at: midnight, limitNanoUsd: 10 });
  assert.equal(left(host, midnight), 5);
});

test("an offer of one day sells on that day only", () => {
  const host = makeSeller({ day: today });
  assert.equal(left(host), 50);
  host.clock.now = midnight;
  host.apply(agent, { type: "setCapacity", at: midnight, limitNanoUsd: 100 });
  assert.equal(left(host, midnight), 0);
  assert.equal(host.apply(agent, sale("r1", 1, { at: midnight })).status, "refused");
  assert.equal(view(host, midnight).isInForce, false);
});

test("a lowered capacity leaves less to sell, and open holds stay good", () => {
  const host = makeSeller();
  host.apply(agent, sale("r1", 40));
  host.apply(agent, { type: "setCapacity", at: noon, limitNanoUsd: 20 });
  assert.deepEqual([left(host), view(host).heldNanoUsd], [0, 40]);
  assert.equal(host.apply(agent, { type: "follow", id: "r1", chargeNanoUsd: 40 }).status, "settled");
  assert.equal(host.apply(agent, reserve("own1", 1, bySession)).status, "refused");
});

test("another offer on the same day sells nothing of what was sold before", () => {
  const host = makeSeller();
  host.apply(agent, sale("r1", 40));
  host.apply(agent, { type: "follow", id: "r1", chargeNanoUsd: 40 });
  assert.equal(host.apply(agent, offer({ hash: "h2", shareBps: 6_000, nonce: 2 })).status, "set");
  assert.equal(left(host), 20);
  assert.equal(host.apply(agent, sale("r2", 1)).status, "refused", "it names the offer before");
  assert.equal(host.apply(agent, sale("r2", 20, { offer: "h2" })).status, "reserved");
});

test("a nonce counts once, for ever: a replayed offer is refused, and the offer in force may come again", () => {
  const host = makeSeller();
  assert.equal(host.apply(agent, offer()).status, "set");
  assert.equal(host.apply(agent, offer({ hash: "h2" })).status, "nonce_used");
  assert.equal(host.apply(agent, offer({ hash: "w", shareBps: 0, nonce: 5 })).status, "set");
  assert.deepEqual([view(host).isInForce, left(host)], [false, 0]);
  assert.equal(host.apply(agent, offer()).status, "nonce_used");
  assert.equal(host.apply(agent, offer({ hash: "h4", nonce: 4 })).status, "nonce_used");
  assert.equal(host.apply(agent, offer({ hash: "h6", nonce: 6 })).status, "set");
  host.apply(agent, { type: "endOffer", at: noon, hash: "other" });
  assert.equal(view(host).isInForce, true);
  host.apply(agent, { type: "endOffer", at: noon, hash: "h6" });
  assert.equal(view(host).isInForce, false);
  assert.equal(host.apply(agent, offer({ hash: "h6", nonce: 6 })).status, "nonce_used", "it has ended");
});

test("an offer is of today or of every day", () => {
  for (const day of [today - 1, today + 1]) {
    const host = makeSeller();
    assert.equal(host.apply(agent, offer({ hash: "h2", day, nonce: 2 })).status, "wrong_day");
    assert.equal(host.apply(agent, offer({ hash: "w", shareBps: 0, day, nonce: 2 })).status, "set");
  }
});

/** Runs a reservation whose step at an agent fails if it is one of these. */
function reserveAt(host: Example, offers: OfferName[], { amount = 30, fails = [] as string[] } = {}) {
  const by = { owner: account, payer: { kind: "key", digest: "digest of key1" } } as const;
  const shared = { id: "r1", at: noon, amountNanoUsd: amount, leaseMs: 900_000, detail: "{}" };
  const saga = reserveRequest({ ...shared, ...by, offers });
  const asked: string[] = [];
  let step = saga.next();
  while (!step.done) {
    const { partition, command } = step.value;
    asked.push(`${partition.replace(/0x(.).*/, "$1")} ${command.type}`);
    step = fails.includes(partition) ? saga.throw(new Error("not reached")) : saga.next(host.apply(partition, command));
  }
  return { admission: step.value, asked };
}
const named: OfferName = { agent: token, offer: "h1" };
const nobody: OfferName = { agent: other, offer: "h1" };

test("the offer is held first, then the account, then the ceiling, and all end as the account's hold ends", () => {
  const host = makeSeller();
  const { admission, asked } = reserveAt(host, [named]);
  assert.deepEqual(asked, ["identity:agent:a reserveOffer", "account:1 reserve", "ceiling reserveCeiling"]);
  assert.equal(admission.status, "reserved");
  assert.deepEqual("server" in admission && admission.server, named);
  assert.equal(host.rows(account).get("hold", "r1")?.followers, `${agent} ceiling`);
  host.apply(account, settle("r1", 12));
  host.deliverAll();
  assert.deepEqual([view(host).soldNanoUsd, view(host).heldNanoUsd], [12, 0]);
  const [use] = host.all("use");
  assert.deepEqual([use?.row.server, use?.row.offer], [token, "h1"]);
  assert.deepEqual(host.alerts, []);
});

test("what agents refuse or cannot be asked the protocol serves, after two of them", () => {
  const unreachable = makeSeller();
  const first = reserveAt(unreachable, [named], { fails: [agent] });
  assert.deepEqual("server" in first.admission && first.admission.server, null);
  const host = makeSeller();
  const { admission, asked } = reserveAt(host, [nobody, nobody, named]);
  assert.deepEqual("server" in admission && admission.server, null);
  assert.equal(asked.filter((step) => step.includes("reserveOffer")).length, 2);
  const second = reserveAt(makeSeller(), [nobody, named]).admission;
  assert.deepEqual("server" in second && second.server, named);
  assert.equal(host.rows(account).get("hold", "r1")?.followers, "ceiling");
  host.apply(account, settle("r1", 12));
  host.deliverAll();
  assert.deepEqual([host.all("use")[0]?.row.server, host.all("use")[0]?.row.offer], ["protocol", null]);
});

test("a request that its account or the ceiling refuses holds nothing at the agent", () => {
  const poor = makeSeller({}, 100_000);
  const { admission } = reserveAt(poor, [named], { amount: 1_001 });
  assert.equal(admission.status === "refused" && admission.refusal.budget, "balance");
  assert.equal(view(poor).heldNanoUsd, 0);
  const capped = makeSeller();
  capped.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 10 });
  const refused = reserveAt(capped, [named]).admission;
  assert.equal(refused.status === "refused" && refused.refusal.budget, "ceiling");
  capped.deliverAll();
  assert.equal(view(capped).heldNanoUsd, 0);
  assert.deepEqual(capped.alerts, []);
});

test("a hold that its owner gave to nobody, or to another agent, ends when its lease does", () => {
  const host = makeSeller();
  const ask = (id: string) => {
    const saga = host.begin(askOwner(agent, { id, owner: account }, noon));
    while (saga.step());
    return saga.result;
  };
  host.apply(agent, sale("r1", 10));
  assert.equal(ask("r1"), "released", "no owner has heard of it");
  assert.equal(host.apply(account, reserve("r1", 10)).status, "conflict", "and none ever will");
  host.apply(agent, sale("r2", 10));
  host.apply(account, reserve("r2", 10));
  assert.equal(ask("r2"), "released", "the owner's hold has other followers");
  host.apply(account, settle("r2", 10));
  host.deliverAll();
  assert.deepEqual([view(host).soldNanoUsd, view(host).heldNanoUsd], [0, 0]);
});

test("a request that is given to the protocol releases the agent, once, and is the protocol's use", () => {
  const host = makeSeller();
  reserveAt(host, [named]);
  for (let times = 2; times > 0; times--) {
    assert.equal(host.apply(account, { type: "reassign", id: "r1" }).status, "reassigned");
  }
  assert.equal(host.outbox().length, 1);
  host.deliverAll();
  assert.deepEqual([view(host).soldNanoUsd, view(host).heldNanoUsd, left(host)], [0, 0, 50]);
  host.apply(account, settle("r1", 12));
  host.deliverAll();
  assert.deepEqual([host.all("use")[0]?.row.server, view(host).soldNanoUsd], ["protocol", 0]);
  assert.equal(answer(host.rows(ceilingPartition), { type: "ceiling", at: noon }).settledNanoUsd, 12);
  assert.equal(host.apply(account, { type: "reassign", id: "r1" }).status, "already_resolved");
  assert.equal(host.apply(account, { type: "reassign", id: "r9" }).status, "unknown");
  assert.deepEqual(host.alerts, []);
});

test("a hold over midnight counts on the day of its admission, and goes with that day", () => {
  const host = makeSeller();
  reserveAt(host, [named]);
  host.clock.now = noon + 3 * DAY_MS;
  host.apply(agent, { type: "setCapacity", at: host.clock.now, limitNanoUsd: 7 });
  assert.equal(view(host).heldNanoUsd, 30, "a day on which something is open stays");
  host.apply(account, { ...release("r1"), at: host.clock.now });
  host.deliverAll();
  host.clock.now += DAY_MS;
  host.apply(agent, { type: "setCapacity", at: host.clock.now, limitNanoUsd: 7 });
  const rows = host.rows(agent);
  assert.deepEqual(
    [...rows.list("budget", { limit: 9 }), ...rows.list("counter", { limit: 9 })].map(({ id }) => id),
    [`capacity:${midnight + 3 * DAY_MS}`],
  );
});

test("after 00:00 UTC nothing of yesterday is sold, whenever the request arrived", () => {
  const host = makeSeller();
  host.clock.now = midnight + 50_000;
  assert.equal(host.apply(agent, sale("r1", 50, { at: midnight - 1 })).status, "refused");
});

test("a computer that was replaced leaves its agent able to sell again: it cannot use up the nonces", () => {
  const host = makeSeller();
  for (const nonce of [Number.MAX_SAFE_INTEGER, 2 ** 20 + 2]) {
    assert.equal(host.apply(agent, offer({ hash: "burn", nonce, shareBps: 0 })).status, "nonce_too_high");
  }
  assert.equal(host.apply(agent, offer({ hash: "w", nonce: 2 ** 20 + 1, shareBps: 0 })).status, "set");
  assert.equal(host.apply(agent, offer({ hash: "h2", nonce: 2 ** 20 + 2, computer: "0xe" })).status, "set");
});
