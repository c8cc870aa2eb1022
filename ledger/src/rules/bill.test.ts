import assert from "node:assert/strict";
import { test } from "node:test";
import { answer } from "../messages/reads.ts";
import {
  account,
  admit,
  dueAtOnce,
  type Example,
  hear,
  makeExample,
  makeFinal,
  noon,
  reserve,
  settle,
} from "../testing/example.ts";

const HOUR = 3_600_000;
const view = (host: Example) => answer(host.rows(account), { type: "bill" });
const uses = (host: Example) =>
  answer(host.rows(account), { type: "uses", afterNanoUsd: 0, limit: 99 }).map((use) => [
    use.receipt,
    use.endsAtNanoUsd,
  ]);

let made = 0;
function spend(host: Example, chargeNanoUsd: number): string {
  made += 1;
  const id = `r${made}`;
  admit(host, account, reserve(id, chargeNanoUsd, { at: host.clock.now }));
  host.apply(account, { ...settle(id, chargeNanoUsd), at: host.clock.now });
  return id;
}

const seal = (host: Example, terms = dueAtOnce) => host.apply(account, { type: "seal", at: host.clock.now, ...terms });
const name = (host: Example, before: number, after: number, root: string, parts = "[]") =>
  host.apply(account, { type: "nameRoot", beforeNanoUsd: before, afterNanoUsd: after, root, parts }).status;

test("a page of uses reads no receipts unless their keys are asked for, and a page of receipts a row more than its limit", () => {
  const host = makeExample();
  for (let left = 5; left > 0; left -= 1) spend(host, 10);
  const rows = host.rows(account);
  const read: unknown[] = [];
  const counted: typeof rows = {
    ...{ liveKeys: () => rows.liveKeys(), holds: () => rows.holds(), list: (table, page) => rows.list(table, page) },
    get(table, id) {
      read.push(table);
      return rows.get(table, id);
    },
    newest(table, page) {
      read.push(page.limit);
      return rows.newest(table, page);
    },
  };
  const page = { type: "uses", afterNanoUsd: 0, limit: 3 } as const;
  assert.deepEqual([answer(counted, page).map(({ keyId }) => keyId), read.splice(0)], [[null, null, null], []]);
  const keyed = answer(counted, { ...page, withKeys: true }).map(({ keyId }) => keyId);
  assert.deepEqual([keyed, read.splice(0)], [["key1", "key1", "key1"], Array(3).fill("receipt")]);
  const receipts = { type: "receipts", before: "~", after: "", limit: 2, keyId: null, model: null } as const;
  answer(counted, receipts);
  assert.deepEqual(read, [3]);
});

test("uses are laid end to end; a statement is the stretch between what was debited and where it was sealed", () => {
  const host = makeExample();
  const ids = [spend(host, 10), spend(host, 20)];
  assert.deepEqual(seal(host), { status: "open", beforeNanoUsd: 0, afterNanoUsd: 30 });
  ids.push(spend(host, 5));
  assert.deepEqual(seal(host), { status: "open", beforeNanoUsd: 0, afterNanoUsd: 30 }, "one is open at a time");
  assert.deepEqual(uses(host), [
    [ids[0], 10],
    [ids[1], 30],
    [ids[2], 35],
  ]);
  assert.equal(view(host).toTell, null, "it has no root yet");
  assert.equal(name(host, 0, 30, "root"), "named");
  assert.equal(name(host, 0, 30, "root"), "named");
  assert.equal(name(host, 0, 30, "another"), "conflict");
  assert.deepEqual(view(host).toTell, {
    beforeNanoUsd: 0,
    afterNanoUsd: 30,
    root: "root",
    parts: "[]",
    oldestAt: noon,
  });
  host.apply(account, hear(1_000, { epoch: null, debitedNanoUsd: 30, lastRoot: "root" }));
  assert.deepEqual([view(host).open, view(host).baseNanoUsd, view(host).takenOverNanoUsd], [null, 30, 0]);
  assert.deepEqual(seal(host), { status: "open", beforeNanoUsd: 30, afterNanoUsd: 35 });
});

test("a statement is due by its amount, by its age, or by the age of dust", async () => {
  const host = makeExample();
  const terms = { postNanoUsd: 100, leastNanoUsd: 10, intervalMs: HOUR };
  const due = async () => (await host.due("bill", host.clock.now, { after: null, limit: 9 })).length === 1;
  assert.equal(seal(host, terms).status, "not_due", "nothing is owed");
  spend(host, 9);
  assert.equal(await due(), true, "it is looked at once");
  assert.equal(seal(host, terms).status, "not_due");
  assert.equal(await due(), false);
  spend(host, 1);
  assert.equal(await due(), true, "it is no dust any more");
  assert.equal(seal(host, terms).status, "not_due");
  host.clock.now = noon + HOUR - 1;
  assert.equal(await due(), false);
  host.clock.now = noon + HOUR;
  assert.equal(await due(), true);
  assert.equal(seal(host, terms).status, "open");
  makeFinal(host);
  spend(host, 100);
  assert.equal(await due(), true);
  assert.equal(seal(host, terms).status, "open", "by its amount alone");
});

test("dust is due after 30 days", () => {
  const host = makeExample();
  const terms = { postNanoUsd: 100, leastNanoUsd: 10, intervalMs: HOUR };
  spend(host, 9);
  host.clock.now = noon + 30 * 24 * HOUR - 1;
  assert.equal(seal(host, terms).status, "not_due");
  host.clock.now += 1;
  assert.equal(seal(host, terms).status, "open");
});

test("the rest of a statement paid in part is told again under the same root, with the remaining parts", () => {
  const host = makeExample();
  spend(host, 30);
  seal(host);
  const part = (amountNanoUsd: number) => ({ agent: "0xa", day: 1, amountNanoUsd });
  name(host, 0, 30, "root", JSON.stringify([part(5), part(10)]));
  host.apply(account, hear(1_000, { epoch: null, debitedNanoUsd: 12, lastRoot: "root" }));
  const { toTell, open, baseNanoUsd } = view(host);
  assert.deepEqual([toTell?.beforeNanoUsd, toTell?.afterNanoUsd, toTell?.root], [12, 30, "root"]);
  assert.deepEqual(JSON.parse(toTell?.parts ?? ""), [part(3)]);
  assert.deepEqual([open?.beforeNanoUsd, baseNanoUsd], [0, 0]);
});

test("a statement may be named shorter than it was sealed; the rest is owed after it", () => {
  const host = makeExample();
  spend(host, 10);
  spend(host, 20);
  seal(host);
  assert.equal(name(host, 0, 10, "root"), "named");
  host.apply(account, hear(1_000, { epoch: null, debitedNanoUsd: 10, lastRoot: "root" }));
  assert.deepEqual(seal(host), { status: "open", beforeNanoUsd: 10, afterNanoUsd: 30 });
});

test("final debits of somebody else pay for the account's own uses, the last perhaps in part", () => {
  const host = makeExample();
  spend(host, 10);
  spend(host, 20);
  seal(host);
  name(host, 0, 30, "root");
  admit(host, account, reserve("open", 50));
  host.apply(account, hear(1_000, { epoch: null, debitedNanoUsd: 15, lastRoot: "foreign" }));
  const { baseNanoUsd, settledNanoUsd, open, takenOverNanoUsd } = view(host);
  assert.deepEqual([baseNanoUsd, settledNanoUsd, open, takenOverNanoUsd], [15, 30, null, 15]);
  assert.equal(host.alerts.length, 1);
  assert.deepEqual(seal(host), { status: "open", beforeNanoUsd: 15, afterNanoUsd: 30 });
  assert.equal(host.apply(account, settle("open", 5)).status, "already_resolved", "an older hold is released");
});

test("final debits beyond the line move it, so that no customer is charged for both", () => {
  const host = makeExample({ balance: 100 });
  spend(host, 10);
  host.apply(account, hear(100, { epoch: null, debitedNanoUsd: 60, lastRoot: "foreign" }));
  assert.deepEqual([view(host).settledNanoUsd, view(host).baseNanoUsd], [60, 60]);
  assert.equal(answer(host.rows(account), { type: "balance", at: noon }).availableNanoUsd, 40);
  assert.equal(seal(host).status, "not_due");
  const id = spend(host, 5);
  assert.deepEqual(uses(host).at(-1), [id, 65]);
});

test("a statement that was told and is unknown becomes the open one, and its uses are lost", () => {
  const host = makeExample();
  spend(host, 10);
  admit(host, account, reserve("open", 50));
  const told = { beforeNanoUsd: 0, afterNanoUsd: 40, root: "lost", parts: "[]", oldestAt: noon };
  host.apply(account, hear(1_000, { told }));
  const { settledNanoUsd, open, toTell, takenOverNanoUsd } = view(host);
  assert.deepEqual([settledNanoUsd, open?.root, toTell?.afterNanoUsd, takenOverNanoUsd], [40, "lost", 40, 40]);
  assert.equal(host.alerts.length, 1);
  host.apply(account, hear(1_000, { told, epoch: null }));
  assert.equal(host.alerts.length, 1, "it is known now");
  assert.equal(host.apply(account, settle("open", 5)).status, "already_resolved");
});

test("an older copy's holds are released before it hears, so that none ends a second time", () => {
  const host = makeExample();
  admit(host, account, reserve("open", 50));
  const copy = host.copy(account);
  host.apply(account, settle("open", 5));
  seal(host);
  name(host, 0, 5, "root");
  host.putBack(account, copy);
  host.clock.epoch = 2;
  assert.equal(host.apply(account, { type: "releaseHolds", at: noon }).status, "released");
  // The statement is posted and not final, and the chain's partition does not know it.
  host.apply(account, hear(1_000, { epoch: 2 }));
  assert.equal(host.apply(account, settle("open", 5)).status, "already_resolved");
  assert.deepEqual([view(host).settledNanoUsd, uses(host)], [0, []]);
});

test("a debit that ends where the open statement ends, under another root, is a takeover and no payment", () => {
  const host = makeExample();
  spend(host, 10);
  seal(host);
  name(host, 0, 10, "own");
  host.apply(account, hear(1_000, { epoch: null, debitedNanoUsd: 10, lastRoot: "other" }));
  assert.deepEqual([view(host).open, view(host).takenOverNanoUsd, host.alerts.length], [null, 10, 1]);
});

test("a told statement that does not begin at the final debits, or ends no later than the open one, is not adopted", () => {
  const host = makeExample();
  spend(host, 10);
  makeFinal(host);
  spend(host, 20);
  seal(host);
  name(host, 10, 30, "own");
  const hearTold = (beforeNanoUsd: number, afterNanoUsd: number) => {
    const told = { beforeNanoUsd, afterNanoUsd, root: "other", parts: "[]", oldestAt: noon };
    host.apply(account, hear(1_000, { told, epoch: null, debitedNanoUsd: 10, lastRoot: "root" }));
    return view(host).open?.root;
  };
  assert.deepEqual([hearTold(0, 50), hearTold(20, 50), hearTold(10, 30)], ["own", "own", "own"]);
  assert.deepEqual([view(host).settledNanoUsd, host.alerts], [30, []]);
  assert.equal(hearTold(10, 31), "other");
});

test("an account that has not heard in this epoch changes no money; an answer to an older question does not count", () => {
  const host = makeExample();
  admit(host, account, reserve("r", 50));
  host.clock.epoch = 2;
  const deaf = { status: "unheard", epoch: 2 };
  const release = { type: "release", id: "r", at: noon, lossNanoUsd: 0, detail: null } as const;
  assert.deepEqual(admit(host, account, reserve("r2", 1)), deaf);
  assert.deepEqual([host.apply(account, settle("r", 1)), host.apply(account, release), seal(host)], [deaf, deaf, deaf]);
  assert.equal(host.apply(account, hear(1_000, { epoch: null })).status, "heard");
  assert.equal(host.apply(account, hear(1_000, { epoch: 1 })).status, "late");
  assert.deepEqual(host.apply(account, settle("r", 1)), deaf);
  host.apply(account, hear(1_000, { epoch: 2 }));
  assert.equal(host.apply(account, settle("r", 1)).status, "settled");
});

test("after a restore an account hears a chain that has lost the reading which it knows", () => {
  const host = makeExample({ balance: 500 });
  host.apply(account, hear(600, { epoch: null, replay: 9 }));
  host.clock.epoch = 2;
  host.apply(account, hear(700, { epoch: 2, replay: 3 }));
  assert.equal(view(host).activatedNanoUsd, 700);
  host.apply(account, hear(800, { epoch: null, replay: 3 }));
  assert.equal(view(host).activatedNanoUsd, 800);
});

test("within one reading the larger totals count, and a higher reading replaces", () => {
  const host = makeExample({ balance: 500 });
  const activated = () => view(host).activatedNanoUsd;
  host.apply(account, hear(400, { epoch: null }));
  assert.equal(activated(), 500);
  host.apply(account, hear(600, { epoch: null, replay: 0 }));
  assert.equal(activated(), 500, "an older reading");
  host.apply(account, hear(450, { epoch: null, replay: 2 }));
  assert.equal(activated(), 450);
  host.apply(account, hear(450, { epoch: null, replay: 2, debitedNanoUsd: 30, lastRoot: "a" }));
  host.apply(account, hear(450, { epoch: null, replay: 2, debitedNanoUsd: 20, lastRoot: "b" }));
  assert.equal(view(host).debitedNanoUsd, 30);
});
