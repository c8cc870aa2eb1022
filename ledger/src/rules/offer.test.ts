import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS, dayNumber } from "@inference/protocol/window";
import type { Allow, Commands, OfferName } from "../messages/commands.ts";
import { agentPartition, ceilingPartition } from "../messages/partition.ts";
import { answer } from "../messages/reads.ts";
import { reserveRequest } from "../messages/reservation.ts";
import {
  account,
  bySession,
  chain,
  type Example,
  makeExample,
  midnight,
  noon,
  openSession,
  reserve,
  settle,
} from "../testing/example.ts";

const token = `0x${"a".repeat(40)}` as const;
const agent = agentPartition(token);
const other = `0x${"b".repeat(40)}` as const;
const today = dayNumber(noon);
type SetOffer = Commands["setOffer"]["command"];

/** An agent with a capacity of 100 nano-dollars that sells half of it, and with a session of its own. */
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

let asked = 0;

/** A sale to an account of its own: what it holds, or used. */
function sell(host: Example, buyer: string, amounts: { used?: number; more?: number; offer?: string; day?: number }) {
  const { used: usedNanoUsd = 0, more = 0, day = midnight - DAY_MS } = amounts;
  asked += 1;
  const needed = { leastNanoUsd: usedNanoUsd, neededNanoUsd: usedNanoUsd + more, wantedNanoUsd: usedNanoUsd + more };
  const ask: Allow = {
    ...{ type: "allow", account: buyer, day, askedAt: asked, usedNanoUsd, offer: amounts.offer ?? "h1" },
    ...needed,
  };
  return host.apply(agent, ask).status;
}

const view = (host: Example, at = noon) => answer(host.rows(agent), { type: "offer", at });
const left = (host: Example, at = noon) => view(host, at).leftNanoUsd;

test("an offer sells its share of the day's capacity, rounded down, and not a nano-dollar more", () => {
  const host = makeSeller({ shareBps: 3_333 }, 9_000_000_000_000_000);
  const share = 2_999_700_000_000_000;
  assert.equal(view(host).limitNanoUsd, share);
  assert.equal(sell(host, "a", { more: share + 1 }), "refused");
  assert.equal(sell(host, "b", { more: share }), "allowed");
  assert.equal(sell(host, "c", { more: 1 }), "refused");
  assert.equal(view(makeSeller({ shareBps: 9_999 }, 9_999)).limitNanoUsd, 9_998);
});

test("own use takes all that is not sold, and a sale only what own use leaves", () => {
  const host = makeSeller();
  assert.equal(sell(host, "a", { more: 30 }), "allowed");
  assert.equal(host.apply(agent, reserve("own1", 71, bySession)).status, "refused");
  assert.equal(host.apply(agent, reserve("own1", 70, bySession)).status, "reserved");
  assert.equal(answer(host.rows(agent), { type: "capacity", at: noon }).availableNanoUsd, 0);
  assert.equal(sell(host, "b", { more: 1 }), "refused");
  host.apply(agent, settle("own1", 60));
  assert.deepEqual([left(host), view(host).ownNanoUsd], [10, 60]);
  assert.equal(sell(host, "b", { more: 10 }), "allowed");
});

test("before the day's capacity is known nothing is sold, and the next day starts from zero", () => {
  const host = makeSeller({}, null);
  assert.deepEqual([view(host).capacityNanoUsd, left(host)], [null, 0]);
  assert.equal(sell(host, "a", { more: 1 }), "refused");
  host.apply(agent, { type: "setCapacity", at: noon, limitNanoUsd: 100 });
  assert.equal(sell(host, "a", { more: 50 }), "allowed");
  host.clock.now = midnight;
  assert.equal(left(host, midnight), 0);
  assert.equal(sell(host, "a", { more: 1, day: midnight }), "refused");
  host.apply(agent, { type: "setCapacity", at: midnight, limitNanoUsd: 10 });
  assert.equal(left(host, midnight), 5);
});

test("an offer of one day sells on that day only", () => {
  const host = makeSeller({ day: today });
  assert.equal(left(host), 50);
  host.clock.now = midnight;
  host.apply(agent, { type: "setCapacity", at: midnight, limitNanoUsd: 100 });
  assert.equal(left(host, midnight), 0);
  assert.equal(sell(host, "a", { more: 1, day: midnight }), "refused");
  assert.equal(view(host, midnight).isInForce, false);
});

test("a lowered capacity leaves less to sell, and what was allowed stays good", () => {
  const host = makeSeller();
  sell(host, "a", { more: 40 });
  host.apply(agent, { type: "setCapacity", at: noon, limitNanoUsd: 20 });
  assert.deepEqual([left(host), view(host).heldNanoUsd], [0, 40]);
  assert.equal(sell(host, "a", { used: 40 }), "allowed");
  assert.equal(view(host).soldNanoUsd, 40);
  assert.equal(host.apply(agent, reserve("own1", 1, bySession)).status, "refused");
});

test("another offer on the same day sells nothing of what was sold before", () => {
  const host = makeSeller();
  sell(host, "a", { more: 40 });
  sell(host, "a", { used: 40 });
  assert.equal(host.apply(agent, offer({ hash: "h2", shareBps: 6_000, nonce: 2 })).status, "set");
  assert.equal(left(host), 20);
  assert.equal(sell(host, "b", { more: 1 }), "refused", "it names the offer before");
  assert.equal(sell(host, "b", { more: 20, offer: "h2" }), "allowed");
});

test("an emptied identity sells nothing, and spends nothing, until its buyers have told it again", () => {
  const host = makeSeller();
  sell(host, "a", { used: 20 });
  host.apply(agent, { type: "empty", at: noon, limit: 9 });
  assert.equal(sell(host, "b", { more: 1 }), "refused");
  assert.equal(host.apply(agent, reserve("own1", 1, bySession)).status, "refused");
  assert.equal(sell(host, "a", { used: 20 }), "allowed");
  host.apply(agent, { type: "fill" });
  assert.deepEqual([view(host).soldNanoUsd, left(host)], [20, 30]);
  assert.equal(host.apply(agent, reserve("own1", 81, bySession)).status, "refused");
  assert.equal(host.apply(agent, reserve("own1", 80, bySession)).status, "reserved");
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
  const by = { owner: account, chain, payer: { kind: "key", digest: "digest of key1" } } as const;
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
const used = (host: Example) => host.all("use").map(({ row }) => [row.server, row.offer, row.costNanoUsd]);

test("the account names what to ask: the ceiling, then the agent; the hold is its own alone", () => {
  const host = makeSeller();
  const { admission, asked: steps } = reserveAt(host, [named]);
  assert.deepEqual(steps, ["account:1 reserve", "ceiling allow", "identity:agent:a allow", "account:1 reserve"]);
  assert.deepEqual("server" in admission && admission.server, named);
  assert.deepEqual([view(host).heldNanoUsd, host.all("receipt").length], [30, 1]);
  host.apply(account, settle("r1", 12));
  host.deliverAll();
  assert.deepEqual([view(host).soldNanoUsd, view(host).heldNanoUsd], [12, 0]);
  assert.deepEqual(used(host), [[token, "h1", 12]]);
  assert.deepEqual(host.alerts, []);
});

test("after two agents that refuse or cannot be reached, the protocol serves the request", () => {
  const unreachable = makeSeller();
  const first = reserveAt(unreachable, [named], { fails: [agent] });
  assert.deepEqual("server" in first.admission && first.admission.server, null);
  const host = makeSeller();
  const { admission, asked: steps } = reserveAt(host, [nobody, nobody, named]);
  assert.deepEqual("server" in admission && admission.server, null);
  assert.equal(steps.filter((step) => step.startsWith("identity")).length, 2);
  const second = reserveAt(makeSeller(), [nobody, named]).admission;
  assert.deepEqual("server" in second && second.server, named);
  host.apply(account, settle("r1", 12));
  assert.deepEqual(used(host), [[null, null, 12]]);
});

test("an allowance whose reply was lost is lowered in a minute", () => {
  const host = makeSeller();
  const saga = reserveRequest({
    ...{ id: "r1", at: noon, amountNanoUsd: 30, leaseMs: 900_000, detail: "{}", owner: account, chain },
    ...{ payer: { kind: "key", digest: "digest of key1" }, offers: [named] },
  });
  for (let step = saga.next(); !step.done; ) {
    const { partition, command } = step.value;
    const reply = host.apply(partition, command);
    step = partition === agent ? saga.throw(new Error("the answer is lost")) : saga.next(reply);
  }
  assert.equal(view(host).heldNanoUsd, 30);
  host.clock.now += 60_000;
  host.apply(account, { type: "lower", at: host.clock.now, limit: null });
  host.deliverAll();
  assert.equal(view(host).heldNanoUsd, 0);
});

test("a request that its account or the ceiling refuses asks no agent", () => {
  const poor = makeSeller({}, 100_000);
  const { admission } = reserveAt(poor, [named], { amount: 1_001 });
  assert.equal(admission.status === "refused" && admission.refusal.budget, "balance");
  const capped = makeSeller();
  capped.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 10 });
  const refused = reserveAt(capped, [named]).admission;
  assert.equal(refused.status === "refused" && refused.refusal.budget, "ceiling");
  for (const host of [poor, capped])
    assert.deepEqual([view(host).heldNanoUsd, host.rows(agent).list("allowance", { limit: 9 })], [0, []]);
});

test("a request that is given to the protocol frees the agent, once, and is the protocol's use", () => {
  const host = makeSeller();
  reserveAt(host, [named]);
  const reassign = (id: string) => host.apply(account, { type: "reassign", id }).status;
  assert.deepEqual([reassign("r1"), reassign("r1")], ["reassigned", "reassigned"]);
  assert.equal(host.outbox().length, 1);
  host.deliverAll();
  assert.deepEqual([view(host).soldNanoUsd, view(host).heldNanoUsd, left(host)], [0, 0, 50]);
  host.apply(account, settle("r1", 12));
  host.deliverAll();
  assert.deepEqual([used(host), view(host).soldNanoUsd], [[[null, null, 12]], 0]);
  assert.equal(answer(host.rows(ceilingPartition), { type: "ceiling", at: noon }).settledNanoUsd, 12);
  assert.deepEqual([reassign("r1"), reassign("r9")], ["already_resolved", "unknown"]);
  assert.deepEqual(host.alerts, []);
});

test("a hold over midnight counts on the day of its admission; the days before yesterday go", () => {
  const host = makeSeller();
  reserveAt(host, [named]);
  host.clock.now = midnight + 1;
  host.apply(account, { ...settle("r1", 12), at: host.clock.now });
  host.deliverAll();
  assert.deepEqual([view(host).soldNanoUsd, view(host, midnight).soldNanoUsd], [12, 0]);
  host.clock.now = noon + 3 * DAY_MS;
  host.apply(agent, { type: "setCapacity", at: host.clock.now, limitNanoUsd: 7 });
  const rows = host.rows(agent);
  assert.deepEqual(
    [...rows.list("budget", { limit: 9 }), ...rows.list("counter", { limit: 9 })].map(({ id }) => id),
    [`capacity:${midnight + 2 * DAY_MS}`],
  );
});

test("after 00:00 UTC nothing of yesterday is sold, whenever the request arrived", () => {
  const host = makeSeller();
  host.clock.now = midnight + 50_000;
  assert.equal(sell(host, "a", { more: 50 }), "refused");
});

test("a computer that was replaced leaves its agent able to sell again: it cannot use up the nonces", () => {
  const host = makeSeller();
  for (const nonce of [Number.MAX_SAFE_INTEGER, 2 ** 20 + 2]) {
    assert.equal(host.apply(agent, offer({ hash: "burn", nonce, shareBps: 0 })).status, "nonce_too_high");
  }
  assert.equal(host.apply(agent, offer({ hash: "w", nonce: 2 ** 20 + 1, shareBps: 0 })).status, "set");
  assert.equal(host.apply(agent, offer({ hash: "h2", nonce: 2 ** 20 + 2, computer: "0xe" })).status, "set");
});
