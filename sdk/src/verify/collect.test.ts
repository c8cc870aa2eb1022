import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { after, before, test } from "node:test";
import { http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { connect } from "../connection.ts";
import { type BillServer, startBillServer } from "../testing/bill-server.ts";
import { CENT, evidenceOf, honestStory, KEY, SETTLEMENT } from "../testing/told-bill.ts";
import { collectBill, collectEvidence } from "./collect.ts";
import { askChain } from "./collect-chain.ts";
import type { Evidence } from "./evidence.ts";
import { judge } from "./judge.ts";
import { verify } from "./verify.ts";

/** Evidence over HTTP, from a gateway and a node. */
const honest = evidenceOf(honestStory());
const log = honest.log ?? { receipts: [], isComplete: true };
let server: BillServer;

before(async () => {
  server = await startBillServer(honest);
});
after(() => server.close());

test("an honest gateway passes, and serves only the account's own data", async () => {
  server.asked.splice(0);
  const { outcome, checks, evidence } = await verify(connectionTo(server), { log });
  equal(outcome, "pass", JSON.stringify(checks, null, 1));
  deepEqual(evidence.said.uses, honest.said.uses);
  deepEqual(evidence.chain, honest.chain);
  const paths = new Set(server.asked.filter((path) => path !== "/rpc" && !path.startsWith("/api/v1/prices/")));
  deepEqual([...paths].sort(), [
    ...["/api/v1/activity", "/api/v1/contracts", "/api/v1/credits", "/api/v1/statements"],
    ...["/api/v1/statements/uses", "/api/v1/status", "/auth"],
  ]);
  // Three records and six uses, two a page.
  equal(server.asked.filter((path) => path.startsWith("/api/v1/statements")).length, 2 + 3);
});

test("a gateway that repeats each request with the key that it sees fails by the log of the customer", async () => {
  const story = honestStory();
  story.billed = story.billed.flatMap((each) => [each, { ...each, id: each.id.replace("req_0", "req_1") }]);
  story.sealed = [6, 4];
  const liar = await startBillServer(evidenceOf(story));
  try {
    const { outcome, checks } = await verify(connectionTo(liar), { log });
    equal(outcome, "fail");
    deepEqual(
      checks.flatMap(({ id, outcome }) => (outcome === "pass" ? [] : id)),
      ["requests"],
    );
    equal((await verify(connectionTo(liar))).notProven[0]?.startsWith("That you made these requests"), true);
  } finally {
    await liar.close();
  }
});

test("uses that are settled during the reading belong to the next bill", async () => {
  const moving = structuredClone(honest);
  const [last] = moving.said.uses.slice(-1);
  if (last !== undefined)
    moving.said.uses.push({ ...last, id: `${last.id.slice(0, -1)}1`, ends_at_nano_usd: 7 * CENT });
  const busy = await startBillServer(moving);
  try {
    equal((await collectEvidence(connectionTo(busy), log)).said.uses.length, 6);
  } finally {
    await busy.close();
  }
});

test("the bill of a day has its statements whole, and verifies without the gateway", async () => {
  for (const [day, records, uses] of [
    ["2026-11-02", 2, 3],
    ["2026-11-03", 1, 3],
    ["2026-11-04", 0, 0],
  ] as const) {
    const bill = await collectBill(connectionTo(server), { from: day, to: day }, log);
    deepEqual([day, bill.said.records.length, bill.said.uses.length], [day, records, uses]);
    const kept = JSON.parse(JSON.stringify(bill)) as Evidence;
    const { outcome, notProven } = await judge(kept, { isBundle: true, settlement: SETTLEMENT });
    equal(outcome, "pass");
    match(notProven[0] ?? "", /^What the chain says: the file tells it/);
  }
  const both = await collectBill(connectionTo(server), { from: "2026-11-01", to: "2026-11-30" }, null);
  deepEqual([both.said.records.length, both.said.uses.length], [3, 6]);
});

test("a statement that the previous day's ceiling pays is in the bill of its uses' day", async () => {
  const early = structuredClone(honest);
  for (const { chunk } of early.said.records) chunk.day = "2026-11-02";
  const gateway = await startBillServer(early);
  try {
    const bill = await collectBill(connectionTo(gateway), { from: "2026-11-03", to: "2026-11-03" }, log);
    deepEqual([bill.said.records.length, bill.said.uses.length], [1, 3]);
  } finally {
    await gateway.close();
  }
});

test("a stored bill is compared with the reader's node, and a changed one fails", async () => {
  const bill = await collectBill(connectionTo(server), { from: "2026-11-02", to: "2026-11-02" }, log);
  const node = http(`${server.url}/rpc`);
  const options = { isBundle: true, isAsked: true, settlement: SETTLEMENT };
  const { outcome, checks } = await judge(await askChain({ ...bill, chain: null }, node), options);
  equal(outcome, "pass", JSON.stringify(checks, null, 1));
  deepEqual(
    checks.flatMap(({ id, trusts }) => (trusts.includes("whoever made this bundle") ? id : [])),
    ["usage"],
  );
  const changed = structuredClone(bill);
  for (const record of changed.said.records) record.chunk.root = `0x${"0".repeat(64)}`;
  equal((await judge(await askChain(changed, node), options)).outcome, "fail");
  const elsewhere = { ...bill, contract: { ...bill.contract, chainId: 5 } };
  await rejects(askChain(elsewhere, node), /answers for chain 1, not 5/);
});

test("pages that do not go forward end the reading", async () => {
  const stuck: typeof fetch = async (input, init) => {
    if (!String(input).includes("/statements/uses")) return fetch(input, init);
    return Response.json({ data: [], next_after: 0 });
  };
  await rejects(collectEvidence({ ...connectionTo(server), fetch: stuck }, null), /do not go forward/);
});

function connectionTo({ url }: BillServer) {
  const chains = { 1: { transport: http(`${url}/rpc`), contracts: { inferenceSettlement: SETTLEMENT } } };
  return connect({ gateway: url, account: privateKeyToAccount(KEY), chains, pollMs: 1 });
}
