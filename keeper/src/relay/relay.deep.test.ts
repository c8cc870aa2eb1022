import { deepEqual, equal, match, ok } from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { after, afterEach, before, test } from "node:test";
import { fundDollars } from "@inference/devnet/third-parties/local-chains";
import { gaslessTopUpAbi } from "@inference/protocol/abi/gasless-top-up";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { eventually } from "@inference/protocol/testing/eventually";
import { topUpStruct } from "@inference/protocol/top-up";
import type { Hex } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { alice, creditOf, DOLLAR, deployer, dollarsOf, moveAway } from "../testing/three-chains.ts";
import { createRelayStore } from "./store.ts";
import { fingerprintOf, payerOn, type RelaySite, relay, sentBy, startRelaySite } from "./testing/relay-site.ts";

let site: RelaySite;
before(async () => {
  site = await startRelaySite();
});
afterEach(async () => {
  site.aheadMs = 0;
  await site.primary.client.setAutomine(true);
  await site.primary.client.setBalance({ address: relay.address, value: 10n ** 21n });
});
after(() => site.stop());

test("a top-up that somebody else sends first is found, and its fee still is the relay's", async () => {
  const { primary } = site;
  const payer = await payerOn(primary, 6n);
  const body = await site.signed(primary, payer);
  const fees = await dollarsOf(primary, relay.address);
  await primary.client.setAutomine(false);
  const { id } = await site.topUp(body);
  await site.state(id, "sent");
  const theirs = await primary.client.writeContract({
    ...{ address: primary.at("gaslessTopUp"), abi: gaslessTopUpAbi, account: alice },
    ...{ functionName: "topUpWithAuthorization", args: [topUpStruct(body.top_up), body.signature as Hex] },
    ...{ gas: 1_000_000n, maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 11n },
  });
  await site.mine();
  const paid = await site.state(id, "confirmed");
  equal(paid.transaction, theirs);
  equal((await dollarsOf(primary, relay.address)) - fees, 20_000n);
  equal(await creditOf(primary, payer.address), 5n * DOLLAR * 1_000n);
});

test("a relay without coins, then a chain that stands still, then a restart: the payment is told of, and made once", async () => {
  const { primary } = site;
  const payer = await payerOn(primary, 6n);
  await primary.client.setBalance({ address: relay.address, value: 0n });
  const { id } = await site.topUp(await site.signed(primary, payer));
  const waiting = await waits(id, /coin for gas/);
  deepEqual(
    [waiting.state, waiting.waits_for],
    ["accepted", "The relay's account has no coin for gas. The operator is told."],
  );
  ok(site.events.some(({ level, event }) => level === "alert" && event === "relay without gas"));
  await primary.client.setAutomine(false);
  await primary.client.setBalance({ address: relay.address, value: 10n ** 18n });
  site.aheadMs += 6_000;
  const { transaction: first } = await site.state(id, "sent");
  await site.restart();
  site.aheadMs += 40_000;
  // The transaction is replaced by one with a higher fee: one of them is mined.
  await eventually(async () => (await site.get(id)).transaction !== first);
  await site.mine();
  await site.state(id, "confirmed");
  equal(await creditOf(primary, payer.address), 5n * DOLLAR * 1_000n);
});

test("a payment that was stored as sent and never was, as after a crash, is sent", async () => {
  const { primary } = site;
  const payer = await payerOn(primary, 6n);
  await primary.client.setBalance({ address: relay.address, value: 0n });
  const { id } = await site.topUp(await site.signed(primary, payer));
  await waits(id, /coin for gas/);
  const nonce = await sentBy(primary);
  withStore((store) => {
    const row = store.get(id) ?? missing();
    const hash = generatePrivateKey();
    const sent = { state: "sent", hashes: [hash], transaction: hash, nonce, feeWei: "5", sentAt: Date.now() } as const;
    store.put({ ...row, ...sent });
  });
  await primary.client.setBalance({ address: relay.address, value: 10n ** 18n });
  site.aheadMs += 40_000;
  await site.state(id, "confirmed");
  equal(await sentBy(primary), nonce + 1);
});

test("a payer whose dollars or plain address go before the block costs the relay one transaction, and ends failed", async () => {
  const { primary } = site;
  const payers = [await payerOn(primary, 6n), await payerOn(primary, 6n)] as const;
  const leave = [
    () => moveAway(primary, payers[0], 6n),
    () => primary.client.setCode({ address: payers[1].address, bytecode: `0xef0100${"11".repeat(20)}` }),
  ];
  for (const [index, payer] of payers.entries()) {
    const sent = await sentBy(primary);
    const body = await site.signed(primary, payer);
    await primary.client.setAutomine(false);
    const { id } = await site.topUp(body);
    await site.state(id, "sent");
    await leave[index]?.();
    await site.mine();
    const { reason } = await site.state(id, "failed");
    match(reason ?? "", [/too few dollars left/, /has code/][index] ?? /-/);
    match(reason ?? "", /nothing was paid/);
    equal((await sentBy(primary)) - sent, 1);
    equal(await creditOf(primary, payer.address), 0n);
  }
});

test("a payer whose dollars go before it is sent leaves his place to others, without a transaction", async () => {
  const { primary } = site;
  const [payer, honest] = [await payerOn(primary, 6n), await payerOn(primary, 6n)];
  await primary.client.setBalance({ address: relay.address, value: 0n });
  const sent = await sentBy(primary);
  const { id } = await site.topUp(await site.signed(primary, payer));
  const other = await site.topUp(await site.signed(primary, honest));
  await waits(id, /coin for gas/);
  await moveAway(primary, payer, 6n);
  site.aheadMs += 6_000;
  await site.state(id, "failed");
  equal((await site.get(other.id)).state, "accepted");
  equal(await sentBy(primary), sent);
});

test("a failed payment that its payer sends himself is told as paid", async () => {
  const { primary } = site;
  const payer = await payerOn(primary, 6n);
  const body = await site.signed(primary, payer);
  await primary.client.setBalance({ address: relay.address, value: 0n });
  const { id } = await site.topUp(body);
  await waits(id, /coin for gas/);
  await moveAway(primary, payer, 1n);
  site.aheadMs += 6_000;
  await site.state(id, "failed");
  const back = await payerOn(primary, 1n);
  await primary.client.setBalance({ address: back.address, value: 10n ** 18n });
  const dollar = { address: primary.stablecoin, abi: stablecoinAbi, functionName: "transfer" } as const;
  await primary.sent(await primary.client.writeContract({ ...dollar, args: [payer.address, DOLLAR], account: back }));
  const hash = await primary.client.writeContract({
    ...{ address: primary.at("gaslessTopUp"), abi: gaslessTopUpAbi, account: alice },
    ...{ functionName: "topUpWithAuthorization", args: [topUpStruct(body.top_up), body.signature as Hex] },
  });
  await primary.sent(hash);
  const { state, transaction, reason } = await site.get(id);
  deepEqual([state, transaction, reason], ["confirmed", hash, null]);
});

test("a failed payment that somebody executes is claimed when it is sent again, for the request that came first", async () => {
  const { primary } = site;
  const payer = await payerOn(primary, 1n);
  const payment = await site.x402(payer);
  await primary.client.setBalance({ address: relay.address, value: 0n });
  const { id } = await site.pay(payment);
  await waits(id, /coin for gas/);
  await moveAway(primary, payer, 1n);
  site.aheadMs += 6_000;
  await site.state(id, "failed");
  await fundDollars(primary, { issuer: deployer, to: payer.address, dollars: 1n });
  await site.execute(payment);
  match((await site.get(id)).reason ?? "", /without the door.*Send it again to have it claimed/);
  await primary.client.mine({ blocks: 1 });
  await primary.client.setBalance({ address: relay.address, value: 10n ** 18n });
  const theirs = { ...payment, fingerprint: fingerprintOf("another") };
  deepEqual([(await site.pay(theirs)).serves, (await site.pay(payment)).serves], [false, true]);
  site.aheadMs += 6_000;
  await site.state(id, "confirmed");
  equal(await creditOf(primary, payer.address), DOLLAR * 1_000n);
});

test("a relay whose budget of the day is used waits, and sends once it has one", async () => {
  const { primary } = site;
  const payer = await payerOn(primary, 6n);
  await site.restart({ dailyBudgetWei: 1n });
  const { id } = await site.topUp(await site.signed(primary, payer));
  await waits(id, /budget for gas is used for today/);
  ok(site.events.some(({ level, event }) => level === "alert" && event === "budget exhausted"));
  await site.restart();
  await site.state(id, "confirmed");
});

test("an authorization is called failed where an event proves it, and used where none is found", async () => {
  const { primary } = site;
  const payer = await payerOn(primary, 6n);
  const canceled = await site.x402(payer);
  await site.cancel(payer, canceled.authorization.nonce);
  match(await refusalOf(canceled), /canceled this authorization\. Nothing was paid/);

  // Two payments with one nonce: the small one is executed, and the large one is shown to the relay.
  const large = await site.x402(payer);
  await site.execute(await site.x402(payer, "1", { nonce: large.authorization.nonce }));
  await primary.client.mine({ blocks: 1 });
  match(await refusalOf(large), /used this nonce for another payment/);

  const old = await site.x402(payer);
  await site.execute(old);
  for (let count = 0; count < 21; count += 1) await primary.client.mine({ blocks: 100 });
  const told = await refusalOf(old);
  match(told, /was used\. The relay finds no event/);
  ok(!/nothing was/i.test(told), told);
});

test("a claim waits for the block after its event, and is made then", async () => {
  const { primary } = site;
  const payer = await payerOn(primary, 1n);
  const payment = await site.x402(payer);
  await site.execute(payment);
  const { id, state, waits_for } = await site.pay(payment);
  deepEqual([state, waits_for], ["accepted", "It was executed without the door, and is claimed in the next block."]);
  site.aheadMs += 6_000;
  await waits(id, /in the next block/);
  await primary.client.mine({ blocks: 1 });
  site.aheadMs += 6_000;
  await site.state(id, "confirmed");
  equal(await creditOf(primary, payer.address), DOLLAR * 1_000n);
});

test("a payment that was executed among so many events that its proof is large is not claimed, and holds up no other", async () => {
  const { primary } = site;
  const [payer, honest] = [await payerOn(primary, 3n), await payerOn(primary, 1n)];
  const [early, late, largest] = [await site.x402(payer), await site.x402(payer), await site.x402(payer)];
  await primary.client.setBalance({ address: relay.address, value: 0n });
  const { id } = await site.pay(early);
  await waits(id, /coin for gas/);
  for (const each of [early, late]) await site.execute(each, 100_000);
  await site.execute(largest, 130_000);
  await primary.client.mine({ blocks: 1 });
  await primary.client.setBalance({ address: relay.address, value: 10n ** 21n });
  const told = await refusalOf(late);
  match(told, /proof of \d+ bytes.*dollars wait there.*Anyone can send/);
  match(await refusalOf(largest), /proof of 13\d{4} bytes.*No usual node takes.*`activateFor`/);
  ok(!/nothing was/i.test(told), told);
  site.aheadMs += 6_000;
  match((await site.state(id, "failed")).reason ?? "", /proof of \d+ bytes/);
  await site.state((await site.pay(await site.x402(honest))).id, "confirmed");
});

test("a claim that cannot be sent ends a day after its deadline, and says where the dollars are", async () => {
  const { primary } = site;
  const payer = await payerOn(primary, 1n);
  const payment = await site.x402(payer, String(DOLLAR), { validBefore: String(2n ** 47n) });
  await site.execute(payment);
  await primary.client.mine({ blocks: 1 });
  await primary.client.setBalance({ address: relay.address, value: 0n });
  const { id, expires_at } = await site.pay(payment);
  ok(Date.parse(expires_at ?? "") <= Date.now() + 2 * 86_400_000, expires_at);
  await waits(id, /coin for gas/);
  const { timestamp } = await primary.client.getBlock();
  const setDeadline = (expiresAt: number) =>
    withStore((store) => store.put({ ...(store.get(id) ?? missing()), expiresAt, nextAt: 0 }));
  setDeadline(Number(timestamp) - 86_399);
  await primary.client.setBalance({ address: relay.address, value: 10n ** 21n });
  await primary.client.setNextBlockTimestamp({ timestamp: timestamp + 1n });
  await primary.client.mine({ blocks: 1 });
  site.aheadMs += 6_000;
  match((await site.state(id, "failed")).reason ?? "", /within a day of its deadline.*dollars wait there.*activateFor/);
  await site.pay(payment);
  await site.state(id, "confirmed");
  equal(await creditOf(primary, payer.address), DOLLAR * 1_000n, "sent again, it is tried for another day");
});

test("an accepted payment that expires ends unpaid", async () => {
  const { primary } = site;
  const payer = await payerOn(primary, 6n);
  await primary.client.setBalance({ address: relay.address, value: 0n });
  const deadline = Number((await primary.client.getBlock()).timestamp) + 400;
  const { id } = await site.topUp(await site.signed(primary, payer, { deadline }));
  await waits(id, /coin for gas/);
  await primary.client.setNextBlockTimestamp({ timestamp: BigInt(deadline) });
  await primary.client.mine({ blocks: 1 });
  await primary.client.setBalance({ address: relay.address, value: 10n ** 18n });
  site.aheadMs += 6_000;
  equal((await site.state(id, "expired")).reason, null);
  equal(await creditOf(primary, payer.address), 0n);
});

test("a payer whose dollars are in a transaction on its way is told to try again", async () => {
  const { primary } = site;
  await eventually(() => withStore((store) => store.pendingCount() === 0));
  const payer = await payerOn(primary, 1n);
  await primary.client.setAutomine(false);
  const { id } = await site.pay(await site.x402(payer));
  await site.state(id, "sent");
  const { error } = await site.request("POST", "payments", await site.x402(payer));
  deepEqual([error?.code, /in no block yet/.test(error?.message ?? "")], ["overloaded", true]);
  await site.mine();
  await site.state(id, "confirmed");
});

test("a payer's open payments are at most four and at most his dollars, however many come at once", async () => {
  const { primary } = site;
  await primary.client.setBalance({ address: relay.address, value: 0n });
  const payer = await payerOn(primary, 2n);
  const bodies = await Promise.all(Array.from({ length: 3 }, () => site.x402(payer)));
  const answers = await Promise.all(bodies.map((body) => site.request("POST", "payments", body)));
  const errors = answers.flatMap(({ error }) => error ?? []);
  equal(errors.length, 1);
  match(errors[0]?.message ?? "", /has 2 USD Coin\. With the payments on their way it needs 3\./);
  const rich = await payerOn(primary, 9n);
  const five = await Promise.all(Array.from({ length: 5 }, () => site.x402(rich)));
  const codes = (await Promise.all(five.map((body) => site.request("POST", "payments", body)))).map(
    ({ error }) => error?.code,
  );
  deepEqual(
    codes.filter((code) => code !== undefined),
    ["overloaded"],
  );
});

test("a relay full of payments whose payers have no dollars any more is empty again, without a transaction", async () => {
  const { primary } = site;
  await primary.client.setBalance({ address: relay.address, value: 0n });
  const payer = await payerOn(primary, 6n);
  const { id } = await site.pay(await site.x402(payer));
  await waits(id, /coin for gas/);
  const sent = await sentBy(primary);
  withStore((store) => {
    const row = store.get(id) ?? missing();
    const { authorization, ...rest } = JSON.parse(row.body) as { authorization: object };
    for (let count = store.pendingCount(); count < 1_000; count += 1) {
      const nonce = generatePrivateKey();
      const owner = `0x${nonce.slice(26)}`;
      const body = JSON.stringify({ ...rest, authorization: { ...authorization, from: owner, nonce } });
      store.put({ ...row, id: nonce, owner, account: owner, body });
    }
  });
  const another = await site.x402(payer);
  equal((await site.request("POST", "payments", another)).error?.code, "overloaded");
  site.aheadMs += 6_000;
  await eventually(async () => (await site.request("POST", "payments", another)).error === undefined);
  equal(await sentBy(primary), sent);
});

function waits(id: string, wanted: RegExp) {
  return eventually(async () => {
    const found = await site.get(id);
    return wanted.test(found.waits_for ?? "") && found;
  });
}

async function refusalOf(body: unknown): Promise<string> {
  const { error } = await site.request("POST", "payments", body);
  equal(error?.code, "payment_refused");
  return error?.message ?? "";
}

/** A second connection to the relay's database. */
function withStore<T>(change: (store: ReturnType<typeof createRelayStore>) => T): T {
  const database = new DatabaseSync(site.databaseFile);
  database.exec("BEGIN");
  const made = change(createRelayStore(database, Date.now));
  database.exec("COMMIT");
  database.close();
  return made;
}

function missing(): never {
  throw new Error("no row");
}
