import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "@inference/protocol/window";
import {
  account,
  admit,
  createKey,
  type Example,
  identity,
  makeExample,
  makeFinal,
  noon,
  release,
  reserve,
  settle,
} from "../testing/example.ts";
import { totalTerms } from "./totals.ts";

const RETENTION_MS = 30 * DAY_MS;

function use(
  host: Example,
  id: string,
  chargeNanoUsd: number,
  model: string,
  at = noon,
  key = "key1",
  tag?: string,
): void {
  host.clock.now = at;
  const payer = { kind: "key", digest: `digest of ${key}` } as const;
  assert.equal(admit(host, account, { ...reserve(id, 100), at, payer }).status, "reserved");
  const tagged = tag === undefined ? {} : { tag };
  const tally = { model, promptTokens: 7, completionTokens: 3, ...tagged };
  const detail = JSON.stringify({ model, upstreamId: `answer ${id}`, ...tagged });
  assert.equal(host.apply(account, { ...settle(id, chargeNanoUsd), at, detail, tally }).status, "settled");
}

function totals(host: Example, keyId: string | null = null, model: string | null = null) {
  const query = {
    type: "totals",
    from: "2027-06-01",
    to: "2027-06-30",
    after: null,
    keyId,
    model,
    limit: 100,
  } as const;
  return host.read(account, query);
}

async function received(host: Example, more: { before?: string; limit?: number; keyId?: string; model?: string } = {}) {
  const { before = "~", limit = 100, keyId = null, model = null } = more;
  const page = await host.read(account, { type: "receipts", before, after: "", limit, keyId, model });
  return { ids: page.receipts.map(({ id }) => id), next: page.next };
}

test("requests of a day, key and model share a total, which is what their receipts come to", async () => {
  const host = makeExample();
  host.apply(account, createKey("key2"));
  use(host, "r1", 5, "one");
  use(host, "r2", 6, "one");
  use(host, "r3", 10, "two and more");
  use(host, "r4", 20, "one", noon, "key2");
  use(host, "r5", 40, "one", noon + DAY_MS);
  const { totals: all, next } = await totals(host);
  assert.equal(next, null);
  assert.deepEqual(
    all.map((total) => {
      const { day, keyId, model } = totalTerms(total);
      return { day, keyId, model, requests: total.requests, charge: total.chargeNanoUsd };
    }),
    [
      { day: "2027-06-15", keyId: "key1", model: "one", requests: 2, charge: 11 },
      { day: "2027-06-15", keyId: "key1", model: "two and more", requests: 1, charge: 10 },
      { day: "2027-06-15", keyId: "key2", model: "one", requests: 1, charge: 20 },
      { day: "2027-06-16", keyId: "key1", model: "one", requests: 1, charge: 40 },
    ],
  );
  assert.deepEqual([all[0]?.promptTokens, all[0]?.completionTokens], [14, 6]);
  const of = async (keyId: string | null, model: string | null) =>
    (await totals(host, keyId, model)).totals.map(({ chargeNanoUsd }) => chargeNanoUsd);
  assert.deepEqual(
    [await of("key2", null), await of(null, "one"), await of("key2", "two and more")],
    [[20], [11, 20, 40], []],
  );
});

test("requests with a tag share a total of their own, and those of a day, key and model still come to its receipts", async () => {
  const host = makeExample({ balance: 100_000 });
  host.apply(account, createKey("key2"));
  const tag = (host: Example, id: string, charge: number, tag: string, key = "key1", at = noon, model = "one") =>
    use(host, id, charge, model, at, key, tag);
  use(host, "r001", 1, "one");
  tag(host, "r002", 2, "b c");
  tag(host, "r003", 4, "a");
  tag(host, "r004", 8, "b c");
  tag(host, "r005", 16, "a", "key2");
  tag(host, "r006", 32, "a", "key1", noon, "one more");
  const told = async (more: { tag?: string; model?: string; keyId?: string } = {}) => {
    const filter = { keyId: null, model: null, ...more, limit: 1_000 };
    const days = { from: "2027-06-01", to: "2027-06-30", after: null };
    const { totals } = await host.read(account, { type: "totals", ...days, ...filter });
    return totals.map((total) => ({ ...totalTerms(total), charge: total.chargeNanoUsd }));
  };
  const [day, keyId, model] = ["2027-06-15", "key1", "one"];
  assert.deepEqual(await told({ keyId }), [
    { day, keyId, model, tag: null, charge: 1 },
    { day, keyId, model, tag: "a", charge: 4 },
    { day, keyId, model, tag: "b c", charge: 10 },
    { day, keyId, model: "one more", tag: "a", charge: 32 },
  ]);
  const charges = async (more: object) => (await told(more)).map(({ charge }) => charge);
  assert.deepEqual(
    [await charges({ tag: "a" }), await charges({ tag: "a", model })],
    [
      [4, 32, 16],
      [4, 16],
    ],
  );
  const page = { before: "~", after: "", limit: 100, keyId: null, model: null };
  const { receipts } = await host.read(account, { type: "receipts", ...page, tag: "a" });
  assert.deepEqual(
    receipts.map(({ id }) => id),
    ["r006", "r005", "r003"],
  );
  const { dayNanoUsd } = await host.read(account, { type: "keyUsage", at: noon, keyId });
  assert.equal(dayNanoUsd, 47, "what a key used is of all tags");
});

test("a day and key have 32 totals by tag, whatever the models; the rest of a model is in one, and none is in two", async () => {
  const host = makeExample({ balance: 100_000 });
  host.apply(account, createKey("key2"));
  const tagged = (id: string, tag: string, model = "one", key = "key1", at = noon) =>
    use(host, id, 1, model, at, key, tag);
  const counts = async (model: string, keyId = "key1") => {
    const { totals: all } = await totals(host, keyId, model);
    const ofDay = all.filter((total) => totalTerms(total).day === "2027-06-15");
    return new Map(ofDay.map((total) => [totalTerms(total).tag, total.requests]));
  };
  tagged("r09", "of another model", "two");
  for (let n = 10; n < 41; n += 1) tagged(`r${n}`, `tag ${n}`);
  assert.equal((await counts("one")).size, 31);
  for (let n = 41; n < 50; n += 1) tagged(`r${n}`, `tag ${n}`);
  tagged("r50", "tag 10");
  // It sorts before all others.
  tagged("r51", "!");
  for (const n of [52, 53]) tagged(`r${n}`, `tag ${n - 42}`, "two");
  const told = await counts("one");
  assert.deepEqual([told.size, told.get("other"), told.get("tag 10"), told.get("tag 41")], [32, 10, 2, undefined]);
  assert.deepEqual(
    [...(await counts("two"))],
    [
      ["other", 2],
      ["of another model", 1],
    ],
  );
  tagged("r54", "tag 10", "one", "key2");
  assert.deepEqual([...(await counts("one", "key2"))], [["tag 10", 1]]);
  tagged("r55", "tag 42", "one", "key1", noon + DAY_MS);
  const next = (await totals(host)).totals.at(-1);
  assert.equal(next && totalTerms(next).tag, "tag 42", "the next day has tags of its own");
});

test("a free request counts under no tag", async () => {
  const host = makeExample();
  use(host, "r1", 0, "one", noon, "key1", "a");
  use(host, "r2", 1, "one", noon, "key1", "a");
  const told = (await totals(host)).totals.map((total) => [totalTerms(total).tag, total.requests]);
  assert.deepEqual(told, [
    [null, 1],
    ["a", 1],
  ]);
});

test("a request counts on the day of its admission, whenever it ends", async () => {
  const host = makeExample();
  admit(host, account, { ...reserve("r1", 100), at: noon });
  host.apply(account, { ...settle("r1", 5), at: noon + DAY_MS });
  const [total] = (await totals(host)).totals;
  assert.deepEqual(total && totalTerms(total), { day: "2027-06-15", keyId: "key1", model: "", tag: null });
});

test("a request that was never forwarded counts nowhere, one that cost nothing counts", async () => {
  const host = makeExample();
  for (const id of ["r1", "r2"]) admit(host, account, reserve(id, 10));
  host.apply(account, { ...release("r1"), detail: null });
  host.apply(account, release("r2"));
  const [total] = (await totals(host)).totals;
  assert.deepEqual([total?.requests, total?.chargeNanoUsd], [1, 0]);
});

test("a settle that comes twice counts once", async () => {
  const host = makeExample();
  use(host, "r1", 5, "one");
  host.apply(account, settle("r1", 5));
  host.apply(account, settle("r1", 9));
  const [total] = (await totals(host)).totals;
  assert.deepEqual([total?.requests, total?.chargeNanoUsd], [1, 5]);
});

test("receipts are forgotten once their time is over, no sooner, and every total stays", async () => {
  const host = makeExample();
  use(host, "r1", 5, "one");
  use(host, "r2", 6, "one", noon + 1);
  const before = await totals(host);
  const forget = (at: number, keepMs?: number) => {
    host.clock.now = at;
    const more = keepMs === undefined ? {} : { keepMs };
    return host.apply(account, { type: "forget", at, table: "receipt", ids: ["r1", "r2", "r3"], ...more }).forgotten;
  };
  assert.equal(forget(noon + RETENTION_MS + 1, RETENTION_MS), 0, "not before their debit is final");
  makeFinal(host);
  assert.equal(forget(noon + RETENTION_MS, RETENTION_MS), 0);
  assert.equal(forget(noon + 2 * DAY_MS, 1), 0, "kept at least as long as the request's outcome");
  assert.equal(forget(noon + RETENTION_MS + 1, RETENTION_MS), 1);
  assert.deepEqual(await received(host), { ids: ["r2"], next: null });
  assert.deepEqual(
    host.all("use").map(({ row }) => row.receipt),
    ["r2"],
  );
  assert.deepEqual(await totals(host), before);
  assert.equal(forget(noon + RETENTION_MS + 2, RETENTION_MS), 1);
  assert.deepEqual([await received(host), await totals(host)], [{ ids: [], next: null }, before]);
  const { settledNanoUsd } = await host.read(account, { type: "balance", at: noon });
  assert.equal(settledNanoUsd, 11);
});

test("receipts come page by page, the newest first, each once, whatever is filtered", async () => {
  const host = makeExample({ balance: 100_000 });
  host.apply(account, createKey("key2"));
  const ids = Array.from({ length: 9 }, (_, index) => `r${index + 1}`);
  for (const [index, id] of ids.entries())
    use(host, id, 1, index % 3 === 0 ? "one" : "two", noon, index % 2 ? "key2" : "key1");
  const walk = async (filter: { keyId?: string; model?: string }) => {
    const found: string[][] = [];
    for (let before: string | null = "~"; before !== null; ) {
      const page: { ids: string[]; next: string | null } = await received(host, { ...filter, before, limit: 2 });
      found.push(page.ids);
      before = page.next;
    }
    return found;
  };
  assert.deepEqual(await walk({}), [["r9", "r8"], ["r7", "r6"], ["r5", "r4"], ["r3", "r2"], ["r1"]]);
  assert.deepEqual((await walk({ model: "one" })).flat(), ["r7", "r4", "r1"]);
  assert.deepEqual((await walk({ keyId: "key2" })).flat(), ["r8", "r6", "r4", "r2"]);
  assert.deepEqual((await walk({ keyId: "key2", model: "one" })).flat(), ["r4"]);
});

test("a receipt is found by what the provider calls the answer, in its own partition alone", async () => {
  const host = makeExample();
  use(host, "r1", 5, "one");
  use(host, "r2", 5, "one");
  const find = async (partition: string, upstreamId: string) =>
    (await host.read(partition, { type: "answered", upstreamId }))?.id;
  assert.equal(await find(account, "answer r1"), "r1");
  assert.equal(await find(account, "answer none"), undefined);
  assert.equal(await find(account, "one"), undefined, "what else it says is not its answer's id");
  assert.equal(await find(identity, "answer r1"), undefined);
});

test("a page reads a thousand receipts at most: it may be empty, and says where to go on", async () => {
  const host = makeExample({ balance: 100_000 });
  const id = (n: number): string => `r${10_000 + n}`;
  use(host, id(0), 1, "rare");
  for (let n = 1; n <= 999; n++) use(host, id(n), 1, "one");
  assert.deepEqual(await received(host, { model: "rare" }), { ids: [id(0)], next: id(0) }, "the thousandth");
  assert.equal((await host.read(account, { type: "answered", upstreamId: `answer ${id(0)}` }))?.id, id(0));
  use(host, id(1_000), 1, "one");
  const page = await received(host, { model: "rare" });
  assert.deepEqual(page, { ids: [], next: id(1) }, "one past it");
  assert.deepEqual(await received(host, { model: "rare", before: page.next ?? "" }), { ids: [id(0)], next: null });
  assert.equal(await host.read(account, { type: "answered", upstreamId: `answer ${id(0)}` }), null);
});
