import assert from "node:assert/strict";
import { test } from "node:test";
import { accountPartition, chainPartition, journalPartition } from "@inference/ledger/partition";
import { settledUse } from "@inference/ledger/settled-use";
import type { Address } from "@inference/protocol/credential";
import { verifyUse } from "@inference/protocol/use-leaf";
import { useTree } from "@inference/protocol/use-tree";
import { generationAnswer } from "@inference/protocol/wire/answers";
import { batchAnswer, batchesAnswer } from "@inference/protocol/wire/settlement";
import { type Fixture, makeWallet, NOW, openFixture, PRIMARY, type Wallet } from "../../test/identity-fixture.ts";

/** GET /api/v1/batches, GET /api/v1/batches/{id}, and what a receipt says of its settlement. */
const day = "2026-11-21";
const chain = chainPartition(PRIMARY);
const journal = journalPartition(day);
const hash = (digit: number): `0x${string}` => `0x${String(digit).repeat(64)}`;

/** A batch of two accounts' uses, settled or on its way there. */
async function open(state: "built" | "signed" | "settled" = "settled") {
  const fixture = openFixture();
  const [wallet, other] = [makeWallet(), makeWallet()];
  for (const [place, payer] of [wallet, other, wallet].entries()) use(fixture, place + 1, payer.address);
  const name = { batch: 1, openedAt: NOW };
  fixture.ledger.apply(chain, { type: "openBatch", ...name, journal: day });
  const gathered = fixture.ledger.apply(journal, {
    type: "gatherUses",
    ...name,
    maxUses: 9,
    maxEntries: 9,
    maxServes: 9,
  });
  assert.equal(gathered.status, "gathered");
  if (gathered.status !== "gathered") throw new Error("no uses");
  const { settlement } = fixture.gateway.config;
  const { root } = useTree(
    settlement,
    gathered.uses.map((row) => settledUse(1, row)),
  );
  const range = { firstUse: requestId(1), lastUse: requestId(3) };
  fixture.ledger.apply(chain, { type: "buildBatch", ...name, ...range, root, uses: 3, amountNanoUsd: 60 });
  const fees = { raw: "0x", nonce: 0, maxFeePerGasWei: "1", signedAt: NOW };
  if (state !== "built") fixture.ledger.apply(chain, { type: "signBatch", ...name, ...fees, hash: hash(7), day });
  if (state === "settled") {
    fixture.ledger.apply(chain, { type: "settleBatch", ...name, at: NOW, settledBy: hash(7), block: 12 });
  }
  return { fixture, wallet, other, root, settlement };
}

function requestId(place: number): string {
  return `req_${`${place}0`.padStart(26, "0")}`;
}

function use({ ledger }: Fixture, place: number, account: string): void {
  const row = { id: requestId(place), account: account.toLowerCase(), chargeNanoUsd: place * 10, admittedAt: NOW };
  ledger.apply(journal, { type: "journal", ...row, server: "protocol" });
}

test("anybody sees the batches, the newest first, and nobody's uses", async () => {
  const { fixture, root } = await open();
  const { status, text } = await fixture.call("GET", "/api/v1/batches");
  assert.equal(status, 200);
  const { data, next_before } = batchesAnswer.parse(JSON.parse(text));
  const amount = { amount: 6e-8, amount_nano_usd: 60 };
  const settled = { transaction: hash(7), block: 12 };
  assert.deepEqual(data, [{ id: 1, status: "final", day, root, uses: 3, ...amount, ...settled }]);
  assert.equal(next_before, null);
  const one = await fixture.call("GET", "/api/v1/batches/1");
  assert.deepEqual(batchAnswer.parse(JSON.parse(one.text)).data, data[0]);
});

test("a session adds its account's uses and a key its own, whose proofs verify and which sum to the debit", async () => {
  const { fixture, wallet, other, root, settlement } = await open();
  const session = await fixture.signIn(wallet);
  const { key } = await fixture.makeKey(other);
  const { key: unused } = await fixture.makeKey(wallet);
  spend(fixture, other, key, requestId(2), 20);
  for (const [bearer, owner, charges] of [
    [session, wallet, [10, 30]],
    [key, other, [20]],
    [unused, wallet, []],
  ] as [string, Wallet, number[]][]) {
    const { text } = await fixture.call("GET", "/api/v1/batches/1", { bearer });
    const { leaves = [] } = batchAnswer.parse(JSON.parse(text)).data;
    assert.deepEqual(
      leaves.map(({ charge_nano_usd }) => charge_nano_usd),
      charges,
    );
    for (const leaf of leaves) {
      const claimed = {
        ...{ batch: 1, account: owner.address.toLowerCase() as Address, receipt: leaf.id as `req_${string}` },
        ...{ costNanoUsd: leaf.charge_nano_usd, dayServed: leaf.day_served },
      };
      assert.ok(verifyUse(root, settlement, claimed as never, leaf.proof as `0x${string}`[]));
    }
  }
  const stranger = await fixture.signIn(makeWallet());
  const { text } = await fixture.call("GET", "/api/v1/batches/1", { bearer: stranger });
  assert.deepEqual(batchAnswer.parse(JSON.parse(text)).data.leaves, []);
});

test("a wrong credential is 401, an unknown batch 404, a wrong page 400", async () => {
  const { fixture } = await open();
  assert.equal((await fixture.call("GET", "/api/v1/batches/1", { bearer: "ik_wrong" })).status, 401);
  for (const id of ["2", "0", "-1", "1.5", "x", "99999999999999"]) {
    const { status, body } = await fixture.call("GET", `/api/v1/batches/${id}`);
    assert.deepEqual([status, body.error?.code], [404, "not_found"], id);
  }
  for (const query of ["limit=0", "limit=101", "limit=x", "before=0", "before=1.5"]) {
    const { status, body } = await fixture.call("GET", `/api/v1/batches?${query}`);
    assert.deepEqual(
      [status, body.error?.code, body.error?.param],
      [400, "invalid_request", query.split("=")[0]],
      query,
    );
  }
});

test("a parameter that there is not is named", async () => {
  const { fixture } = await open();
  const { status, body } = await fixture.call("GET", "/api/v1/batches?page=2");
  assert.deepEqual([status, body.error?.code, body.error?.param], [400, "unsupported_parameter", "page"]);
});

test("a receipt says what became of its charge: pending, posted, final, with the proof", async () => {
  for (const [state, status, transaction] of [
    ["built", "pending", null],
    ["signed", "posted", hash(7)],
    ["settled", "final", hash(7)],
  ] as const) {
    const { fixture, wallet } = await open(state);
    const bearer = await fixture.signIn(wallet);
    await receipt(fixture, wallet, requestId(1), 10);
    const { text } = await fixture.call("GET", `/api/v1/generation?id=${requestId(1)}`, { bearer });
    const { settlement } = generationAnswer.parse(JSON.parse(text)).data;
    assert.deepEqual([settlement?.status, settlement?.batch, settlement?.transaction], [status, 1, transaction]);
    assert.ok((settlement?.proof?.length ?? 0) > 0);
  }
});

test("a charge that is in no batch yet is pending, and nothing charged is not settled", async () => {
  const { fixture, wallet } = await open();
  const bearer = await fixture.signIn(wallet);
  use(fixture, 5, wallet.address);
  await receipt(fixture, wallet, requestId(5), 50);
  await receipt(fixture, wallet, requestId(6), 0);
  const settlementOf = async (id: string) => {
    const { text } = await fixture.call("GET", `/api/v1/generation?id=${id}`, { bearer });
    return generationAnswer.parse(JSON.parse(text)).data.settlement;
  };
  assert.equal((await settlementOf(requestId(5)))?.status, "pending");
  assert.equal(await settlementOf(requestId(6)), null);
});

/** A request of the wallet's account that was charged so much. */
async function receipt(fixture: Fixture, wallet: Wallet, id: string, chargeNanoUsd: number): Promise<void> {
  const partition = accountPartition(wallet.address.toLowerCase() as Address);
  const { ledger } = fixture;
  ledger.apply(partition, { type: "credit", id: `1:${id}`, at: NOW, amountNanoUsd: 1_000, detail: "{}" });
  const key = { keyId: id, digest: id, label: "", name: id, window: "lifetime", limitNanoUsd: null } as const;
  const nonce = { nonce: id, nonceExpiresAt: NOW + 1, expiresAt: null };
  ledger.apply(partition, { type: "createKey", at: NOW, ...key, ...nonce });
  const hold = { amountNanoUsd: 100, leaseMs: 60_000, followers: [], detail: "{}" };
  ledger.apply(partition, { type: "reserve", id, at: NOW, ...hold, payer: { kind: "key", digest: id } });
  ledger.apply(partition, { type: "settle", id, at: NOW, chargeNanoUsd, lossNanoUsd: 0, detail: "{}" });
}

/** A request of a key that was charged so much. */
function spend({ gateway, ledger }: Fixture, wallet: Wallet, key: string, id: string, chargeNanoUsd: number): void {
  const partition = accountPartition(wallet.address.toLowerCase() as Address);
  const payer = gateway.credentials.verify(key)?.payer;
  assert.ok(payer !== undefined);
  ledger.apply(partition, { type: "credit", id: `1:${id}`, at: NOW, amountNanoUsd: 1_000, detail: "{}" });
  const hold = { amountNanoUsd: 100, leaseMs: 60_000, followers: [], detail: "{}", payer };
  ledger.apply(partition, { type: "reserve", id, at: NOW, ...hold });
  ledger.apply(partition, { type: "settle", id, at: NOW, chargeNanoUsd, lossNanoUsd: 0, detail: "{}" });
}
