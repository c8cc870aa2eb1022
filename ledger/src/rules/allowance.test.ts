import assert from "node:assert/strict";
import { test } from "node:test";
import type { AllowAnswer, Ask, ReserveReply } from "../messages/commands.ts";
import { ceilingPartition as ceiling } from "../messages/partition.ts";
import { answer } from "../messages/reads.ts";
import {
  account,
  admit,
  type Example,
  hear,
  makeExample,
  makeFinal,
  midnight,
  noon,
  release,
  reserve,
  settle,
} from "../testing/example.ts";

const inPieces = { inPieces: true } as const;
/** A ceiling so small that no allowance of a request stays. */
const MANY = 900;
const own = (host: Example) => host.rows(account).list("allowance", { limit: 9 })[0];
const view = (host: Example) => {
  const { settledNanoUsd, heldNanoUsd } = answer(host.rows(ceiling), { type: "ceiling", at: noon });
  return [settledNanoUsd, heldNanoUsd];
};

function askOf(reply: ReserveReply): Ask {
  const ask = reply.status === "asks" ? reply.asks[0] : undefined;
  assert.ok(ask !== undefined, reply.status);
  return ask;
}

function give(host: Example, { limit, command }: Ask): AllowAnswer {
  return { limit, day: command.day, ...host.apply(limit, command) };
}

test("exact: the ceiling is raised by each request and lowered by its end, to the nano-dollar", () => {
  const host = makeExample();
  admit(host, account, reserve("r1", 50));
  assert.deepEqual(view(host), [0, 50]);
  admit(host, account, reserve("r2", 30));
  assert.deepEqual(view(host), [0, 80]);
  host.apply(account, settle("r1", 20));
  host.deliverAll();
  assert.deepEqual(view(host), [20, 30]);
  host.apply(account, release("r2"));
  host.deliverAll();
  assert.deepEqual(view(host), [20, 0]);
  assert.equal(own(host)?.dueAt, null);
});

test("exact: a charge of the whole hold is told too", () => {
  const host = makeExample();
  admit(host, account, reserve("r1", 50));
  host.apply(account, settle("r1", 50));
  host.deliverAll();
  assert.deepEqual(view(host), [50, 0]);
});

test("in pieces: a raise takes the amount used since the last one, and requests within it do not ask", () => {
  const host = makeExample({ ceiling: MANY });
  for (const id of ["r1", "r2"]) {
    admit(host, account, reserve(id, 50, inPieces));
    host.apply(account, settle(id, 40));
  }
  assert.deepEqual(host.outbox(), []);
  // The used amount, the request, and the 40 used since the last raise.
  assert.equal(own(host)?.allowedNanoUsd, 40 + 50 + 40);
  assert.equal(host.apply(account, reserve("r3", 50, inPieces)).status, "reserved");
  admit(host, account, reserve("r4", 50, inPieces));
  assert.equal(own(host)?.allowedNanoUsd, 80 + 100 + 40);
});

test("in pieces: what is not used is lowered a minute after the raise, when the job asks for it", async () => {
  const host = makeExample({ ceiling: MANY });
  admit(host, account, reserve("r1", 50, inPieces));
  assert.equal(own(host)?.dueAt, null, "the request takes all of it");
  host.apply(account, settle("r1", 20));
  const dueAt = noon + 60_000;
  assert.equal(own(host)?.dueAt, dueAt);
  const page = { after: null, limit: 9 };
  assert.deepEqual(await host.due("allowance", dueAt - 1, page), []);
  assert.deepEqual(await host.due("allowance", dueAt, page), [account]);
  host.clock.now = dueAt;
  host.apply(account, { type: "lower", at: dueAt, limit: null });
  host.deliverAll();
  assert.deepEqual([view(host), own(host)?.allowedNanoUsd, own(host)?.dueAt], [[20, 0], 20, null]);
});

test("in pieces: a small allowance stays until the day is over, with room for a second request, and is then told", async () => {
  const host = makeExample();
  admit(host, account, reserve("r1", 50, inPieces));
  host.apply(account, settle("r1", 20));
  const dueAt = own(host)?.dueAt ?? 0;
  assert.ok(dueAt > midnight && dueAt <= midnight + 31 * 60_000, new Date(dueAt).toISOString());
  assert.equal(own(host)?.allowedNanoUsd, 100);
  host.clock.now = noon + 3_600_000;
  const later = { at: host.clock.now };
  assert.equal(host.apply(account, reserve("r2", 50, { ...inPieces, ...later })).status, "reserved", "without an ask");
  host.apply(account, { ...settle("r2", 50), ...later });
  assert.deepEqual([own(host)?.dueAt, view(host)], [dueAt, [0, 100]]);
  assert.deepEqual(await host.due("allowance", dueAt - 1, { after: null, limit: 9 }), []);
  host.clock.now = dueAt;
  host.apply(account, { type: "lower", at: dueAt, limit: null });
  host.deliverAll();
  assert.deepEqual([view(host), own(host)?.allowedNanoUsd, own(host)?.dueAt], [[70, 0], 70, null]);
});

test("in pieces: an allowance of which a request takes all stays too, so its end need not be told in a minute", () => {
  const host = makeExample({ ceiling: 10_000 });
  admit(host, account, reserve("r1", 60, inPieces));
  assert.equal(own(host)?.allowedNanoUsd, 60, "there is no room for a second one");
  host.apply(account, settle("r1", 20));
  assert.ok((own(host)?.dueAt ?? 0) > midnight);
});

test("in pieces: an allowance that stayed is lowered in a minute once it is too large a part of the ceiling", () => {
  const host = makeExample({ ceiling: 10_000 });
  admit(host, account, reserve("r1", 50, inPieces));
  assert.ok((own(host)?.dueAt ?? 0) > midnight);
  admit(host, account, reserve("r2", 60, inPieces));
  assert.deepEqual([own(host)?.allowedNanoUsd, own(host)?.dueAt], [110, null], "both requests take all of it");
  host.apply(account, settle("r1", 20));
  assert.equal(own(host)?.dueAt, noon + 60_000);
});

test("an account has one ask under way: a request meanwhile sends it again, and is not admitted by it", () => {
  const host = makeExample();
  const first = askOf(host.apply(account, reserve("r1", 50)));
  const second = askOf(host.apply(account, reserve("r2", 30)));
  assert.equal(second.command.askedAt, first.command.askedAt);
  assert.equal(own(host)?.dueAt, noon + 60_000);
  const given = give(host, first);
  // The second reply is the row unchanged, so the account asks again.
  const stale = give(host, second);
  assert.equal(stale.allowedNanoUsd, 50);
  assert.equal(host.apply(account, { ...reserve("r1", 50), answers: [given] }).status, "reserved");
  const again = askOf(host.apply(account, { ...reserve("r2", 30), answers: [stale] }));
  assert.ok(again.command.askedAt > first.command.askedAt);
  assert.equal(again.command.neededNanoUsd, 80);
  assert.equal(host.apply(account, { ...reserve("r2", 30), answers: [give(host, again)] }).status, "reserved");
  assert.deepEqual(view(host), [0, 80]);
});

test("in pieces: requests that come at once are held after two raises, however many they are", () => {
  const host = makeExample({ ceiling: 19_000 });
  const requests = Array.from({ length: 32 }, (_, n) => ({ ...reserve(`r${n}`, 30), ...inPieces }));
  let waiting = requests.map((command) => ({ command, ask: askOf(host.apply(account, command)) }));
  for (let raises = 0; raises < 2; raises += 1) {
    const given = waiting.map(({ command, ask }) => ({ command, answer: give(host, ask) }));
    waiting = given.flatMap(({ command, answer }) => {
      const reply = host.apply(account, { ...command, answers: [answer] });
      return reply.status === "reserved" ? [] : [{ command, ask: askOf(reply) }];
    });
  }
  assert.deepEqual([waiting.length, view(host)], [0, [0, 32 * 30]]);
});

test("in pieces: of requests that come at once, all that do not fit are refused by one ask", () => {
  const host = makeExample({ ceiling: 1_000 });
  const requests = Array.from({ length: 16 }, (_, n) => ({ ...reserve(`r${n}`, 50), ...inPieces }));
  let waiting = requests.map((command) => ({ command, ask: askOf(host.apply(account, command)) }));
  const ends: string[] = [];
  for (let raises = 0; raises < 3; raises += 1) {
    const given = waiting.map(({ command, ask }) => ({ command, answer: give(host, ask) }));
    waiting = given.flatMap(({ command, answer }) => {
      const reply = host.apply(account, { ...command, answers: [answer] });
      if (reply.status === "asks") return [{ command, ask: askOf(reply) }];
      ends.push(reply.status === "refused" ? reply.refusal.cause : reply.status);
      return [];
    });
  }
  assert.deepEqual([waiting.length, ends.filter((end) => end === "reserved").length], [0, 4]);
  assert.equal(ends.filter((end) => end === "share_held").length, 12);
  assert.deepEqual(view(host), [0, 200]);
});

test("a raise that is refused lowers on both sides, and the refusal is the request's", () => {
  const host = makeExample({ ceiling: 1_000 });
  admit(host, account, reserve("r1", 50, inPieces));
  host.apply(account, settle("r1", 10));
  assert.deepEqual(view(host), [0, 50]);
  const reply = admit(host, account, reserve("r2", 201, inPieces));
  assert.equal(reply.status === "refused" && reply.refusal.cause, "share");
  assert.deepEqual([view(host), own(host)?.allowedNanoUsd], [[10, 0], 10]);
});

test("a lowering makes the answer to an ask under way late, and nothing is admitted by it", () => {
  const host = makeExample();
  const ask = askOf(host.apply(account, reserve("r1", 50)));
  const given = give(host, ask);
  host.clock.now += 60_000;
  host.apply(account, { type: "lower", at: host.clock.now, limit: null });
  host.deliverAll();
  assert.deepEqual(view(host), [0, 0]);
  assert.equal(host.apply(account, { ...reserve("r1", 50), answers: [given] }).status, "asks");
});

test("while a raise is under way, nothing is admitted out of what was allowed before: its refusal would lower that", () => {
  const host = makeExample({ ceiling: MANY });
  admit(host, account, reserve("r1", 90, inPieces));
  host.apply(account, settle("r1", 10));
  const ask = askOf(host.apply(account, reserve("r2", 100, inPieces)));
  assert.equal(host.apply(account, reserve("r3", 20, inPieces)).status, "asks");
  const given = give(host, ask);
  assert.equal(host.apply(account, { ...reserve("r2", 100, inPieces), answers: [given] }).status, "reserved");
});

test("an answer to an older ask is not taken for that of the one under way", () => {
  const host = makeExample();
  const first = give(host, askOf(host.apply(account, reserve("r1", 50))));
  host.clock.now += 60_000;
  host.apply(account, { type: "lower", at: host.clock.now, limit: null });
  host.deliverAll();
  const late = { at: host.clock.now };
  const second = askOf(host.apply(account, reserve("r2", 30, late)));
  assert.equal(host.apply(account, { ...reserve("r1", 50), answers: [first] }).status, "asks");
  assert.equal(own(host)?.allowedNanoUsd, 0);
  assert.equal(host.apply(account, { ...reserve("r2", 30, late), answers: [give(host, second)] }).status, "reserved");
});

test("a request counts on the day of its admission, also when it ends after midnight", () => {
  const host = makeExample();
  host.clock.now = midnight - 1;
  admit(host, account, reserve("r1", 50, { at: midnight - 1 }));
  host.clock.now = midnight + 60_000;
  admit(host, account, reserve("r2", 30, { at: midnight + 60_000 }));
  host.apply(account, settle("r1", 20));
  host.deliverAll();
  assert.deepEqual(view(host), [20, 0]);
  assert.equal(answer(host.rows(ceiling), { type: "ceiling", at: midnight }).heldNanoUsd, 30);
});

test("a request for nothing does not ask", () => {
  const host = makeExample({ ceiling: 0 });
  assert.equal(host.apply(account, reserve("r1", 0)).status, "reserved");
  host.apply(account, settle("r1", 0));
  assert.deepEqual([host.all("allowance"), host.outbox()], [[], []]);
});

test("an old copy trusts no allowance of its own: it asks, and learns what it used since", () => {
  const host = makeExample({ balance: 10_000 });
  admit(host, account, reserve("r1", 500, inPieces));
  host.apply(account, settle("r1", 100));
  const copy = host.copy(account);
  host.clock.now += 60_000;
  host.apply(account, { type: "lower", at: host.clock.now, limit: ceiling });
  host.deliverAll();
  for (const id of ["r2", "r3"]) {
    admit(host, account, reserve(id, 50, { ...inPieces, at: host.clock.now }));
    host.apply(account, { ...settle(id, 50), at: host.clock.now });
  }
  host.clock.now += 60_000;
  host.apply(account, { type: "lower", at: host.clock.now, limit: ceiling });
  host.deliverAll();
  assert.deepEqual(view(host), [200, 0]);
  host.putBack(account, copy);
  assert.equal(own(host)?.allowedNanoUsd, 1_000, "as the copy has it");
  host.clock.epoch = 2;
  const terms = { ...reserve("r4", 50, { ...inPieces, at: host.clock.now }) };
  assert.equal(admit(host, account, terms).status, "unheard");
  host.apply(account, hear(10_000, { epoch: 2 }));
  assert.equal(admit(host, account, terms).status, "unheard", "it learns that it used 100 more, and hears again");
  host.apply(account, hear(10_000, { epoch: 2 }));
  assert.equal(admit(host, account, terms).status, "reserved");
  assert.deepEqual([own(host)?.usedNanoUsd, own(host)?.allowedNanoUsd], [200, 400]);
});

test("an old copy that nobody told of its restore finds out with its first ask, and hears before it admits", () => {
  const host = makeExample({ balance: 1_000 });
  const copy = host.copy(account);
  admit(host, account, reserve("r1", 400));
  host.apply(account, settle("r1", 400));
  host.deliverAll();
  makeFinal(host);
  host.apply(account, hear(1_500, { debitedNanoUsd: 400, lastRoot: "root" }));
  // As point-in-time recovery would, without the operator's call that changes the epoch.
  host.putBack(account, copy);
  assert.equal(admit(host, account, reserve("r2", 900)).status, "unheard");
  assert.deepEqual(host.alerts, [`${account}: is an older copy: it used at least 400 more on this day`]);
  assert.equal(host.apply(account, settle("r1", 400)).status, "unheard", "it changes no money");
  host.apply(account, hear(1_500, { debitedNanoUsd: 400, lastRoot: "root" }));
  assert.deepEqual(answer(host.rows(account), { type: "bill" }).takenOverNanoUsd, 400);
  assert.equal(admit(host, account, reserve("r2", 1_101)).status, "refused");
  assert.equal(admit(host, account, reserve("r3", 1_100)).status, "reserved");
});
