import assert from "node:assert/strict";
import { test } from "node:test";
import type { KeyLimit } from "@inference/protocol/key-limit";
import { apply } from "../messages/apply.ts";
import type { Commands } from "../messages/commands.ts";
import { answer } from "../messages/reads.ts";
import {
  account,
  admit,
  createKey,
  type Example,
  makeExample,
  noon,
  release,
  reserve,
  settle,
} from "../testing/example.ts";

const minute = 60_000;
const requests = (most: number): KeyLimit => ({ unit: "requests", window: "minute", most });
const tokens = (most: number): KeyLimit => ({ unit: "tokens", window: "minute", most });
const dollars = (window: "day" | "month" | "lifetime", most: number): KeyLimit => ({ unit: "nano_usd", window, most });

type Terms = Partial<Commands["createKey"]["command"]>;

/** An example whose second key has these terms. */
function withTerms(terms: Terms): Example {
  const host = makeExample();
  host.apply(account, createKey("key2", terms));
  return host;
}

const payer = { kind: "key", digest: "digest of key2" } as const;

/** Reserves with the second key at the host's time, and says why it is refused, if it is. */
function ask(host: Example, id: string, more: Partial<Commands["reserve"]["command"]> & { amount?: number } = {}) {
  const { amount = 1, ...terms } = more;
  const reply = admit(host, account, reserve(id, amount, { payer, at: host.clock.now, ...terms }));
  if (reply.status === "limited") {
    const { limit, cause, available, resetsAt } = reply.excess;
    return [limit.unit, cause, available, resetsAt];
  }
  return reply.status === "refused" ? [reply.refusal.window, reply.refusal.cause] : reply.status;
}

const limitsOf = (host: Example, keyId = "key2") =>
  answer(host.rows(account), { type: "key", keyId, at: host.clock.now })?.limits.map(
    ({ limit, used, held, available }) => [limit.window, limit.unit, limit.most, used, held, available],
  );

test("requests of a minute are counted while they run and when they have ended, and the next minute has its own", () => {
  const host = withTerms({ limits: [requests(2)] });
  assert.equal(ask(host, "r1"), "reserved");
  assert.equal(ask(host, "r2"), "reserved");
  assert.deepEqual(ask(host, "r3"), ["requests", "held", 0, noon + minute]);
  host.apply(account, settle("r1", 1));
  host.apply(account, release("r2"));
  assert.deepEqual(ask(host, "r3"), ["requests", "settled", 0, noon + minute]);
  host.clock.now = noon + minute;
  assert.equal(ask(host, "r3"), "reserved");
});

test("a request that was never sent is no request", () => {
  const host = withTerms({ limits: [requests(1)] });
  ask(host, "r1");
  host.apply(account, { ...release("r1"), detail: null });
  assert.equal(ask(host, "r2"), "reserved");
});

test("tokens are held at the bound and settled to the used ones; without a usage the bound is used", () => {
  const host = withTerms({ limits: [tokens(100)] });
  assert.equal(ask(host, "r1", { tokens: 80 }), "reserved");
  assert.deepEqual(ask(host, "r2", { tokens: 21 }), ["tokens", "held", 20, noon + minute]);
  host.apply(account, { ...settle("r1", 1), tokens: 30 });
  assert.equal(ask(host, "r2", { tokens: 70 }), "reserved");
  host.apply(account, settle("r2", 1));
  assert.deepEqual(ask(host, "r3", { tokens: 1 }), ["tokens", "settled", 0, noon + minute]);
  assert.equal(ask(host, "r3", { tokens: 0 }), "reserved", "no tokens need no room");
});

test("a free request counts as one", () => {
  const host = withTerms({ limits: [requests(1)] });
  ask(host, "r1", { amount: 0 });
  host.apply(account, settle("r1", 0));
  assert.deepEqual(ask(host, "r2", { amount: 0 }), ["requests", "settled", 0, noon + minute]);
});

test("a minute is counted as long as a clock can admit a request to it", () => {
  const host = withTerms({ limits: [requests(1)] });
  host.clock.now = noon - minute;
  ask(host, "r1", { at: noon - minute - 1 });
  host.apply(account, settle("r1", 1));
  for (const [id, at] of [
    ["r2", noon - minute],
    ["r3", noon],
  ] as const) {
    ask(host, id, { at });
    host.apply(account, settle(id, 1));
  }
  const again = ask(host, "r4", { at: noon - minute - 1 });
  assert.deepEqual(again, ["requests", "settled", 0, noon - minute]);
});

test("a request of a minute that has long ended leaves no counter for long, and a forgotten key none", () => {
  const host = withTerms({ limits: [requests(50)], expiresAt: noon + 3_600_000 });
  for (let n = 0; n < 30; n++) {
    host.clock.now = noon + n * minute;
    ask(host, `r${n + 10}`);
  }
  for (let n = 29; n >= 0; n--) host.apply(account, settle(`r${n + 10}`, 1));
  const counters = () =>
    host
      .rows(account)
      .list("counter", { limit: 100 })
      .filter(({ id }) => id.startsWith("key:key2"));
  assert.equal(counters().length, 31, "a total, and each minute");
  host.clock.now = noon + 31 * minute;
  ask(host, "r99");
  host.apply(account, settle("r99", 1));
  assert.equal(counters().length, 3);
  host.clock.now = noon + 72 * 3_600_000;
  host.apply(account, { type: "forget", at: host.clock.now, table: "key", ids: ["key2"] });
  assert.deepEqual(counters(), []);
});

test("several limits in dollars hold at once: each names its window, also on a day that begins a month", () => {
  const host = withTerms({ window: "lifetime", limitNanoUsd: 100, limits: [dollars("day", 30), dollars("month", 50)] });
  host.clock.now = Date.UTC(2027, 6, 1, 12);
  const spend = (id: string, amount: number) => {
    const reply = ask(host, id, { amount });
    if (reply === "reserved") host.apply(account, settle(id, amount));
    return reply;
  };
  assert.equal(spend("r1", 30), "reserved");
  assert.deepEqual(spend("r2", 1), ["day", "settled"]);
  host.clock.now += 86_400_000;
  assert.equal(spend("r3", 20), "reserved");
  assert.deepEqual(spend("r4", 1), ["month", "settled"]);
  host.clock.now += 31 * 86_400_000;
  assert.equal(spend("r5", 30), "reserved");
  assert.deepEqual(limitsOf(host), [
    ["lifetime", "nano_usd", 100, 80, 0, 20],
    ["day", "nano_usd", 30, 30, 0, 0],
    ["month", "nano_usd", 50, 30, 0, 20],
  ]);
});

test("a key with one limit in dollars writes the rows that it wrote before", () => {
  const host = withTerms({ window: "day", limitNanoUsd: 100 });
  ask(host, "r1", { tokens: 5, model: { id: "a", isPrivate: false } });
  const state = { clockMs: noon, epoch: 1 };
  const { changes } = apply(account, host.rows(account), { ...settle("r1", 1), tokens: 3 }, state);
  assert.deepEqual(
    changes.filter(({ table }) => table === "counter" || table === "key").map(({ id }) => id),
    ["balance@0", `key:key2@${Date.UTC(2027, 5, 15)}`],
  );
});

const of = (id: string, isPrivate = false) => ({ model: { id, isPrivate } });

test("a key with models is for these models: exact ids, or a prefix", () => {
  const host = withTerms({ models: ["gpt-4o", "llama-*"] });
  for (const id of ["gpt-4o", "llama-", "llama-3.1-8b"]) assert.equal(ask(host, `to ${id}`, of(id)), "reserved");
  for (const id of ["gpt-4o-mini", "gpt", "llama", "x-llama-3"]) {
    assert.equal(ask(host, `to ${id}`, of(id)), "model_not_allowed", id);
  }
  const fallbacks = [of("llama-3").model, of("gpt").model];
  assert.equal(ask(host, "to one", { ...of("gpt-4o"), fallbacks: fallbacks.slice(0, 1) }), "reserved");
  assert.equal(ask(host, "to two", { ...of("gpt-4o"), fallbacks }), "model_not_allowed", "each must be allowed");
  assert.equal(ask(host, "to none"), "model_not_allowed", "an earlier release does not name the model");
});

test("a private key is for private models", () => {
  const host = withTerms({ isPrivate: true });
  assert.equal(ask(host, "r1", of("a", true)), "reserved");
  assert.equal(ask(host, "r2", of("a")), "model_not_allowed");
  assert.equal(ask(host, "r3"), "model_not_allowed");
});

test("without a signature terms are tightened, and nothing is loosened", () => {
  const host = withTerms({ limits: [requests(5)], models: ["llama-*", "gpt"] });
  const update = (change: Partial<Commands["updateKey"]["command"]>) =>
    host.apply(account, { type: "updateKey", keyId: "key2", ...change }).status;
  for (const [status, change] of [
    ["would_raise", { limits: [requests(6)] }],
    ["would_raise", { limits: [requests(4), requests(6)] }],
    ["updated", { limits: [requests(4), tokens(9)] }],
    ["would_raise", { limits: [tokens(10)] }],
    ["would_raise", { models: ["llama-3*", "mistral"] }],
    ["would_raise", { models: ["*"] }],
    ["would_raise", { models: ["gpt*"] }],
    ["updated", { models: ["llama-3*", "llama-2"] }],
    ["would_raise", { models: ["llama-*"] }],
    ["updated", { isPrivate: true }],
    ["updated", { limits: [dollars("day", 10)] }],
    ["would_raise", { limitNanoUsd: 11 }],
    ["updated", { limitNanoUsd: 9, limits: [dollars("lifetime", 50)] }],
  ] as const) {
    assert.equal(update(change), status, JSON.stringify(change));
  }
  const view = answer(host.rows(account), { type: "key", keyId: "key2", at: noon });
  assert.deepEqual(
    view?.limits.map(({ limit }) => limit),
    [dollars("day", 9), requests(4), tokens(9), dollars("lifetime", 50)],
  );
  assert.deepEqual([view?.terms.models, view?.terms.isPrivate], [["llama-3*", "llama-2"], true]);
});

test("a limit in dollars that is added finds what its window has spent", () => {
  const host = withTerms({ window: "lifetime", limitNanoUsd: 100 });
  ask(host, "r1", { amount: 40 });
  host.apply(account, settle("r1", 40));
  host.apply(account, { type: "updateKey", keyId: "key2", limits: [dollars("day", 50)] });
  assert.deepEqual(ask(host, "r2", { amount: 11 }), ["day", "settled"]);
});

test("a minute counts from the setting of its limit: what an earlier limit counted is forgotten", () => {
  const host = withTerms({ limits: [requests(1)] });
  ask(host, "r1");
  host.apply(account, settle("r1", 1));
  const set = (n: number, limits: KeyLimit[]) => {
    const signed = { id: `c${n}`, nonce: `s${n}`, nonceExpiresAt: noon + 1 };
    const terms = { units: ["requests" as const], limits };
    host.apply(account, { type: "setKeyTerms", at: noon, keyId: "key2", ...signed, ...terms });
  };
  set(1, []);
  set(2, [requests(1)]);
  assert.equal(ask(host, "r2"), "reserved");
  assert.deepEqual(ask(host, "r3"), ["requests", "held", 0, noon + minute]);
});

test("a signed message replaces the limits of the units that it names, and keeps the other terms", () => {
  const host = withTerms({ window: "day", limitNanoUsd: 5, limits: [requests(5), tokens(9)], models: ["a"] });
  const set = (n: number, terms: Partial<Commands["setKeyTerms"]["command"]>) => {
    const command = { type: "setKeyTerms", id: `c${n}`, at: noon, keyId: "key2", nonce: `s${n}` } as const;
    assert.equal(host.apply(account, { ...command, nonceExpiresAt: noon + 1, ...terms }).status, "set");
    const view = answer(host.rows(account), { type: "key", keyId: "key2", at: noon });
    return [view?.limits.map(({ limit }) => limit), view?.terms.models, view?.terms.isPrivate];
  };
  assert.deepEqual(set(1, { window: "month", limitNanoUsd: 50, limits: [dollars("day", 8)] }), [
    [dollars("month", 50), requests(5), tokens(9), dollars("day", 8)],
    ["a"],
    false,
  ]);
  const lifted = [dollars("month", 50), tokens(9), dollars("day", 8)];
  assert.deepEqual(set(2, { units: ["requests"], models: null, isPrivate: true }), [lifted, null, true]);
  assert.deepEqual(set(3, { window: "lifetime", limitNanoUsd: null }), [[tokens(9)], null, true]);
});
