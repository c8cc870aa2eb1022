import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { makeCredentials } from "@inference/gateway/auth/credentials";
import { parseSettings } from "@inference/gateway/settings";
import { CHAIN_ID, fund, type TestAccount } from "@inference/gateway/test/fund";
import { accountPartition, agentPartition, ceilingPartition, chainPartition } from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import { send } from "@inference/ledger/saga";
import { backUpLedger } from "./backup.ts";
import { withBooks } from "./chaos/books.ts";
import { gatewayEnvironment } from "./chaos/processes.ts";
import { restorePartition } from "./restore.ts";
import { nodeSettings } from "./settings.ts";

/** A partition is put back from a backup, without a gateway. `restoring.deep.test.ts` follows docs/restoring.md. */
const CHAIN = chainPartition(CHAIN_ID);
const bob = `0x${"b2".repeat(20)}` as const;
const agent = agentPartition(`0x${"c3".repeat(20)}`);
const folder = mkdtempSync(join(tmpdir(), "restoring-"));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, "gateway.sqlite");
const backup = join(folder, "backup.sqlite");
const secret = randomBytes(32);
const credentials = makeCredentials(secret, { bytes: (length) => randomBytes(length) });
const environment = gatewayEnvironment({
  databaseFile: file,
  secret: secret.toString("hex"),
  provider: { url: "http://127.0.0.1:9" },
});

let ofBob: TestAccount;
before(() =>
  withBooks(file, async (ledger) => {
    const put = (...[partition, command]: Parameters<typeof send>) => ledger.run(() => send(partition, command));
    await put(ceilingPartition, { type: "setCeiling", limitNanoUsd: 1_000_000 });
    ofBob = await fund(put, credentials, bob, { balanceNanoUsd: 1_000_000 });
  }),
);

/** A sale of the agent to bob's account. */
async function sell(amountNanoUsd: number): Promise<void> {
  const id = `req_${amountNanoUsd}`;
  await withBooks(file, async (ledger) => {
    const owner = accountPartition(bob);
    const at = Date.now();
    const offers = [{ agent: `0x${"c3".repeat(20)}` as const, offer: "h1" }];
    const terms = { id, at, owner, amountNanoUsd, leaseMs: 900_000, detail: "{}", chain: CHAIN, offers };
    const payer = { kind: "key", digest: ofBob.digest } as const;
    const held = await ledger.run(() => reserveRequest({ ...terms, payer }));
    assert.ok(held.status === "reserved" && held.server !== null, JSON.stringify(held));
    const end = { type: "settle", id, at, chargeNanoUsd: amountNanoUsd, lossNanoUsd: 0, detail: "{}", snapshot: "00" };
    await ledger.run(() => send(owner, end as never));
  });
}

test("an agent's identity is put back, and sells nothing twice", async () => {
  const at = Date.now();
  await withBooks(file, async (ledger) => {
    await ledger.run(() => send(agent, { type: "setCapacity", at, limitNanoUsd: 1_000 }));
    const signed = { hash: "h1", day: 0, shareBps: 10_000, nonce: 1, computer: "0xc", owner: "0xd" } as const;
    await ledger.run(() => send(agent, { type: "setOffer", at, ...signed }));
  });
  await sell(100);
  backUpLedger(file, backup);
  await sell(300);
  await restorePartition(parseSettings(nodeSettings, environment), agent, backup);
  const offer = await withBooks(file, (ledger) => ledger.read(agent, { type: "offer", at }));
  assert.deepEqual([offer.soldNanoUsd, offer.leftNanoUsd], [400, 600]);
});

test("an account's hold that a backup has is released when the account is put back", async () => {
  const owner = accountPartition(bob);
  const [id, at, payer] = ["req_open", Date.now(), { kind: "key", digest: ofBob.digest }] as const;
  const held = () => withBooks(file, async (ledger) => (await ledger.read(owner, { type: "balance", at })).heldNanoUsd);
  const terms = { id, at, owner, amountNanoUsd: 100, leaseMs: 900_000, detail: "{}", chain: CHAIN };
  const reply = await withBooks(file, (ledger) => ledger.run(() => reserveRequest({ ...terms, payer })));
  assert.equal(reply.status, "reserved", JSON.stringify(reply));
  const copy = join(folder, "held.sqlite");
  backUpLedger(file, copy);
  assert.equal(await held(), 100);
  await restorePartition(parseSettings(nodeSettings, environment), owner, copy);
  assert.equal(await held(), 0);
});

test("an account is put back from a backup of an earlier release, which lacks a nullable column", async () => {
  const owner = accountPartition(bob);
  const copy = join(folder, "earlier.sqlite");
  backUpLedger(file, copy);
  const earlier = new DatabaseSync(copy);
  earlier.exec("ALTER TABLE receipt_row DROP COLUMN held_tokens");
  earlier.close();
  const balance = () => withBooks(file, (ledger) => ledger.read(owner, { type: "balance", at: Date.now() }));
  const before = await balance();
  await restorePartition(parseSettings(nodeSettings, environment), owner, copy);
  assert.deepEqual(await balance(), before);
});

test("an agent that is put back before the chain is read sells nothing until it is put back again", async () => {
  const settings = parseSettings(nodeSettings, environment);
  await withBooks(file, (ledger) => ledger.run(() => send(CHAIN, { type: "waitFor", readyFrom: null })));
  await assert.rejects(restorePartition(settings, agent, backup), /not read far enough/);
  await withBooks(file, (ledger) => ledger.run(() => send(CHAIN, { type: "waitFor", readyFrom: 0 })));
  await assert.rejects(sell(10), /"server":null/);
  await restorePartition(settings, agent, backup);
  await sell(20);
});
