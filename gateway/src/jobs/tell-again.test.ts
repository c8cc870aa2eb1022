import assert from "node:assert/strict";
import { test } from "node:test";
import { accountPartition, ceilingPartition, chainPartition } from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import { createKey, noon, settle } from "@inference/ledger/testing/example";
import { openMemoryHost } from "@inference/ledger/testing/memory-host";
import type { Address } from "@inference/protocol/credential";
import { activate, CHAIN_ID } from "../../test/fund.ts";
import { tellAgain } from "./tell-again.ts";

const ACCOUNTS = 201;
const chain = chainPartition(CHAIN_ID);

/** The ceiling of accounts that have used a nano-dollar each. */
async function openLedger() {
  const ledger = openMemoryHost({ now: () => noon });
  ledger.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: 1_000 });
  const addresses = Array.from({ length: ACCOUNTS }, (_, n): Address => `0x${n.toString(16).padStart(40, "0")}`);
  for (const [n, address] of addresses.entries()) {
    await activate(async (partition, command) => ledger.apply(partition, command), address, 1_000);
    ledger.apply(accountPartition(address), createKey("key", { at: noon, digest: "digest", nonceExpiresAt: noon }));
    assert.equal(await request(`first${n}`, address), "reserved");
    ledger.apply(accountPartition(address), { ...settle(`first${n}`, 1), at: noon });
  }
  function request(id: string, address: Address): Promise<string> {
    const terms = { id, at: noon, amountNanoUsd: 1, leaseMs: 900_000, detail: "{}", chain };
    const payer = { kind: "key", digest: "digest" } as const;
    const reservation = { ...terms, payer, owner: accountPartition(address) };
    return ledger.run(() => reserveRequest(reservation)).then(({ status }) => status);
  }
  const used = async () => (await ledger.read(ceilingPartition, { type: "ceiling", at: noon })).settledNanoUsd;
  return { host: { ledger, clock: { now: () => noon } }, used, request, last: addresses.at(-1) ?? "0x" };
}

test("a limit that lost its rows allows nothing until the last page of accounts has told it what they used", async () => {
  const { host, used, request, last } = await openLedger();
  host.ledger.deliverAll();
  assert.equal(await used(), ACCOUNTS);
  const after = await tellAgain(host, { chain, limit: ceilingPartition, after: null });
  assert.deepEqual([after === null, await used()], [false, 200]);
  assert.equal(await request("early", last), "refused");
  assert.equal(await tellAgain(host, { chain, limit: ceilingPartition, after }), null);
  assert.equal(await used(), ACCOUNTS);
  assert.equal(await request("later", last), "reserved");
});

test("nothing is emptied while the list of accounts is not whole", async () => {
  const { host, used } = await openLedger();
  host.ledger.deliverAll();
  host.ledger.apply(chain, { type: "waitFor", readyFrom: null });
  await assert.rejects(tellAgain(host, { chain, limit: ceilingPartition, after: null }), /not read far enough/);
  assert.equal(await used(), ACCOUNTS);
});
