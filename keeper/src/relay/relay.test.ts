import { deepEqual, equal, match } from "node:assert/strict";
import { after, before, test } from "node:test";
import { stablecoinUnits } from "@inference/protocol/money";
import { type TopUpTerms, topUpId } from "@inference/protocol/top-up";
import type { PaymentBody, TopUpBody } from "@inference/protocol/wire/top-up";
import { type Hex, numberToHex, parseSignature, serializeSignature } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { alice, creditOf, DOLLAR, dollarsOf } from "../testing/three-chains.ts";
import { fingerprintOf, payerOn, type RelaySite, relay, sentBy, startRelaySite } from "./testing/relay-site.ts";

let site: RelaySite;
before(async () => {
  site = await startRelaySite();
});
after(() => site.stop());

test("a payer with dollars and no coin is credited from each chain, for exactly the quoted fee, once however often it is sent", async () => {
  for (const on of Object.values(site.chains.sites)) {
    const payer = await payerOn(on, 6n);
    const before = { fee: await dollarsOf(on, relay.address), sent: await sentBy(on) };
    const body = await site.signed(on, payer);
    const answers = await Promise.all(Array.from({ length: 8 }, () => site.topUp(body)));
    const ids = new Set(answers.map(({ id }) => id));
    equal(ids.size, 1, "eight copies at once are one");
    const [id = ""] = ids;
    const paid = await site.state(id, "confirmed");
    deepEqual([paid.amount_token, paid.fee_token, paid.reason], [String(5n * DOLLAR), "20000", null]);
    const unit = stablecoinUnits(on.stablecoinDecimals);
    equal(await dollarsOf(on, payer.address), (DOLLAR - 20_000n) * unit);
    equal((await dollarsOf(on, relay.address)) - before.fee, 20_000n * unit);
    if (on === site.primary) equal(await creditOf(on, payer.address), 5n * DOLLAR * 1_000n);
    deepEqual(await site.topUp(body), paid);
    equal((await sentBy(on)) - before.sent, 1);
  }
});

test("what is underpaid, redirected, forged, late, unfunded, canceled, for elsewhere or for one with code is refused before anything is sent", async () => {
  const { primary, signed, x402 } = site;
  const payer = await payerOn(primary, 6n);
  const poor = privateKeyToAccount(generatePrivateKey());
  const delegated = await payerOn(primary, 6n);
  await primary.client.setCode({ address: delegated.address, bytecode: `0xef0100${"11".repeat(20)}` });
  const sent = await sentBy(primary);
  const now = Math.floor(Date.now() / 1_000);
  const canceled = await signed(primary, payer);
  await site.cancel(payer, topUpId(canceled.top_up));
  const good = await signed(primary, payer);
  const topUp = (change: Partial<TopUpTerms>): TopUpBody => ({ ...good, top_up: { ...good.top_up, ...change } });
  const payment = await x402(payer);
  const paying = (change: object): PaymentBody => ({
    ...payment,
    authorization: { ...payment.authorization, ...change },
  });
  const refused = "payment_refused";
  const refusals: [string, object, string, RegExp][] = [
    ["top-ups", await signed(primary, payer, { fee: "19999" }), refused, /fee is \$0\.019999\. .* at least \$0\.02\./],
    ["top-ups", await signed(primary, payer, { feeTo: alice.address }), refused, /`feeTo` must be/],
    ["top-ups", await signed(primary, payer, { amount: "999999" }), refused, /at least \$1\./],
    ["top-ups", await signed(primary, payer, { deadline: now - 1 }), refused, /has passed/],
    ["top-ups", await signed(primary, payer, { deadline: now + 100_000 }), refused, /too far away/],
    ["top-ups", await signed(primary, poor), refused, /has 0 USD Coin on chain 31337 and needs 5\.02/],
    ["top-ups", await signed(primary, delegated), refused, /has code/],
    ["top-ups", canceled, refused, /canceled/],
    ["top-ups", topUp({ account: alice.address }), "invalid_signature", /not the payer's/],
    ["top-ups", topUp({ amount: String(6n * DOLLAR - 20_000n) }), "invalid_signature", /not the payer's/],
    ["top-ups", { ...good, chain_id: 31339 }, "invalid_signature", /not the payer's/],
    ["top-ups", { ...good, chain_id: 1 }, "invalid_request", /serves the chains/],
    ["payments", await x402(payer, "99999"), refused, /at least \$0\.1\./],
    ["payments", await x402(payer, "100000", { validAfter: String(2n ** 60n) }), refused, /not valid yet/],
    ["payments", await x402(payer, "100000", { validBefore: String(now - 1) }), refused, /has passed/],
    ["payments", await x402(delegated), refused, /has code/],
    ["payments", paying({ to: alice.address }), refused, /must go to/],
    ["payments", paying({ value: "900000" }), "invalid_signature", /not the payer's/],
    ["payments", paying({ from: alice.address }), "invalid_signature", /not the payer's/],
    ["payments", { ...payment, chain_id: 31339 }, refused, /cannot be paid on this chain/],
  ];
  for (const [path, body, code, message] of refusals) {
    const { error } = await site.request("POST", path, body);
    equal(error?.code, code, `${message}: ${error?.message}`);
    match(error?.message ?? "", message);
  }
  equal(await sentBy(primary), sent);
  const { error } = await site.request("GET", "quotes", undefined, "wrong");
  equal(error?.code, "missing_credentials");
});

test("a payment serves the one request that came first, and nobody who copies it from the mempool or the chain", async () => {
  const { primary } = site;
  const payer = await payerOn(primary, 2n);
  const payment = await site.x402(payer);
  const [one, other] = ["one", "other"].map((text) => ({ ...payment, fingerprint: fingerprintOf(text) }));
  if (one === undefined || other === undefined) throw new Error("two");
  const answers = await Promise.all([one, other, one, other].map(site.pay));
  const serves = answers.map((answer) => answer.serves);
  const [first] = serves;
  deepEqual(serves, [first, !first, first, !first]);
  const paid = await site.state(answers[0]?.id ?? "", "confirmed");
  equal(await creditOf(primary, payer.address), DOLLAR * 1_000n);
  const [mine, theirs] = first ? [one, other] : [other, one];
  deepEqual([(await site.pay(mine)).serves, (await site.pay(theirs)).serves], [true, false]);
  deepEqual(await site.pay(mine), { ...paid, serves: true });
  for (const signature of forgeries(payment.signature)) {
    const { error } = await site.request("POST", "payments", { ...mine, signature });
    equal(error?.code, "invalid_signature");
  }

  const executed = await site.x402(payer);
  await site.execute(executed);
  await primary.client.mine({ blocks: 1 });
  const claimed = await site.pay(executed);
  equal(claimed.serves, false, "the chain had it before");
  await site.state(claimed.id, "confirmed");
  equal(await creditOf(primary, payer.address), 2n * DOLLAR * 1_000n, "its signer is credited all the same");
  equal((await site.pay(executed)).serves, false);
});

/** Of nobody, of another form, and none. The second one recovers to the same signer, and no stablecoin takes it. */
function forgeries(signature: Hex): Hex[] {
  const { r, s, yParity } = parseSignature(signature);
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const mirrored = { r, s: numberToHex(order - BigInt(s), { size: 32 }), yParity: 1 - yParity };
  return [`0x${"11".repeat(65)}`, serializeSignature(mirrored), `${signature}00`, "0x"];
}
