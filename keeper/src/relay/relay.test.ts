import { deepEqual, equal, match, ok } from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { fundDollars } from "@inference/devnet/third-parties/local-chains";
import { gaslessTopUpAbi } from "@inference/protocol/abi/gasless-top-up";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { eventually } from "@inference/protocol/testing/eventually";
import {
  permitTypedData,
  receiveTypedData,
  type TopUpTerms,
  topUpStruct,
  topUpTypedData,
  transferTypedData,
} from "@inference/protocol/top-up";
import {
  type Relayed,
  type RelayQuote,
  relayQuotes,
  type TopUpBody,
  topUpAnswer,
} from "@inference/protocol/wire/top-up";
import { type Address, encodeFunctionData, type Hex, parseAbi, parseSignature, toHex } from "viem";
import { generatePrivateKey, mnemonicToAccount, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { type Keeper, startKeeper } from "../keeper.ts";
import type { KeeperSettings } from "../settings.ts";
import { alice, type ChainSite, deployer, shareThreeChains, type ThreeChains } from "../testing/three-chains.ts";

const relay = mnemonicToAccount("test test test test test test test test test test test junk", { addressIndex: 2 });
const SECRET = "a secret of the relay and its gateway";
const DOLLAR = 1_000_000n;
const terms = { fee: 20_000n, least: DOLLAR, leastX402: 100_000n, mostWei: 10n ** 17n };
const cancelAbi = parseAbi([
  "function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)",
]);
let chains: ThreeChains;
let primary: ChainSite;
let settings: KeeperSettings;
let keeper: Keeper;
let url: string;
let aheadMs = 0;
let events: { level: string; event: string }[] = [];

before(async () => {
  chains = await shareThreeChains();
  primary = chains.sites.primary;
  await start(fresh());
});
afterEach(() => {
  events = [];
});
after(async () => {
  await keeper.stop();
  await chains.revert();
});

for (const name of ["primary", "secondary1", "secondary2"] as const) {
  test(`a payer with dollars and no coin is credited on ${name}, for exactly the quoted fee, once however often it is sent`, async () => {
    const site = chains.sites[name];
    const payer = await payerOn(site, 6n);
    const before = { fee: await dollarsOf(site, relay.address), sent: await sentBy(site) };
    const body = await signed(site, payer);
    const answers = await Promise.all(Array.from({ length: 8 }, () => post("top-ups", body)));
    const ids = new Set(answers.map(({ id }) => id));
    equal(ids.size, 1, "eight copies at once are one");
    const [id = ""] = ids;
    const paid = await state(id, "confirmed");
    deepEqual([paid.amount_token, paid.fee_token, paid.reason], [String(5n * DOLLAR), "20000", null]);
    const unit = 10n ** BigInt(site.stablecoinDecimals - 6);
    equal(await dollarsOf(site, payer.address), (DOLLAR - 20_000n) * unit);
    equal((await dollarsOf(site, relay.address)) - before.fee, 20_000n * unit);
    if (name === "primary") equal(await creditOf(payer.address), 5n * DOLLAR * 1_000n);
    deepEqual(await post("top-ups", body), paid);
    equal((await sentBy(site)) - before.sent, 1);
  });
}

test("what is underpaid, redirected, forged, too late, unfunded, canceled or for elsewhere is refused before anything is sent", async () => {
  const payer = await payerOn(primary, 6n);
  const sent = await sentBy(primary);
  const poor = privateKeyToAccount(generatePrivateKey());
  const good = await signed(primary, payer);
  const now = Math.floor(Date.now() / 1_000);
  const changed = (change: Partial<TopUpTerms>): TopUpBody => ({ ...good, top_up: { ...good.top_up, ...change } });
  const canceled = await signed(primary, payer, { salt: toHex(7n, { size: 32 }) });
  await cancel(payer, canceled);
  const refusals: [string, TopUpBody, string, RegExp][] = [
    [
      "underpaid",
      await signed(primary, payer, { fee: "19999" }),
      "payment_refused",
      /fee is \$0\.019999\. It must be at least \$0\.02\./,
    ],
    ["fee to another", await signed(primary, payer, { feeTo: alice.address }), "payment_refused", /`feeTo` must be/],
    ["too small", await signed(primary, payer, { amount: "999999" }), "payment_refused", /at least \$1\./],
    ["past", await signed(primary, payer, { deadline: now - 1 }), "payment_refused", /has passed/],
    ["far", await signed(primary, payer, { deadline: now + 100_000 }), "payment_refused", /too far away/],
    ["unfunded", await signed(primary, poor), "payment_refused", /has 0 USD Coin on chain 31337 and needs 5\.02/],
    ["another's credit", changed({ account: alice.address }), "invalid_signature", /not the payer's/],
    ["more than signed", changed({ amount: String(6n * DOLLAR - 20_000n) }), "invalid_signature", /not the payer's/],
    ["another chain", { ...good, chain_id: 31339 }, "payment_refused", /has 0 USD Coin on chain 31339/],
    ["no chain", { ...good, chain_id: 1 }, "invalid_request", /serves the chains/],
    ["canceled", canceled, "payment_refused", /canceled/],
  ];
  for (const [name, body, code, message] of refusals) {
    const { error } = await request("POST", "top-ups", body);
    equal(error?.code, code, `${name}: ${error?.message}`);
    match(error?.message ?? "", message, name);
  }
  equal(await sentBy(primary), sent);
  equal((await fetch(`${url}/quotes`, { headers: { authorization: "Bearer wrong" } })).status, 401);
});

test("a top-up that somebody else sends first is found, and its fee still is the relay's", async () => {
  const payer = await payerOn(primary, 6n);
  const body = await signed(primary, payer);
  const fees = await dollarsOf(primary, relay.address);
  await primary.client.setAutomine(false);
  const { id } = await post("top-ups", body);
  await state(id, "sent");
  const theirs = await primary.client.writeContract({
    ...{ address: primary.at("gaslessTopUp"), abi: gaslessTopUpAbi, account: alice },
    ...{ functionName: "topUpWithAuthorization", args: [topUpStruct(body.top_up), body.signature as Hex] },
    ...{ gas: 1_000_000n, maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 11n },
  });
  await mineOn(primary);
  const paid = await state(id, "confirmed");
  equal(paid.transaction, theirs);
  equal((await dollarsOf(primary, relay.address)) - fees, 20_000n);
  equal(await creditOf(payer.address), 5n * DOLLAR * 1_000n);
});

test("a relay without coins, then a chain that stands still, then a restart: the payment is told of, and made once", async () => {
  const payer = await payerOn(primary, 6n);
  await primary.client.setBalance({ address: relay.address, value: 0n });
  const { id } = await post("top-ups", await signed(primary, payer));
  const waiting = await eventually(async () => {
    const found = await get(id);
    return found.waits_for !== null && found;
  });
  deepEqual(
    [waiting.state, waiting.waits_for],
    ["accepted", "The relay's account has no coin for gas. The operator is told."],
  );
  ok(events.some(({ level, event }) => level === "alert" && event === "relay without gas"));
  await primary.client.setAutomine(false);
  await primary.client.setBalance({ address: relay.address, value: 10n ** 18n });
  aheadMs += 6_000;
  await state(id, "sent");
  await restart();
  aheadMs += 40_000;
  const [first] = [(await get(id)).transaction];
  // The transaction is replaced by one with a higher fee: one of them is mined.
  await eventually(async () => (await get(id)).transaction !== first);
  await mineOn(primary);
  await state(id, "confirmed");
  equal(await creditOf(payer.address), 5n * DOLLAR * 1_000n);
  aheadMs = 0;
});

test("a reverted transaction is told of; the payment is made when it can be, and expires unpaid if it cannot", async () => {
  const payer = await payerOn(primary, 6n);
  await primary.client.setBalance({ address: payer.address, value: 10n ** 18n });
  const deadline = Number((await primary.client.getBlock()).timestamp) + 400;
  const { id } = await post(
    "top-ups",
    await signed(primary, payer, { deadline }, async () => {
      await primary.client.setAutomine(false);
    }),
  );
  await state(id, "sent");
  const away = { abi: stablecoinAbi, functionName: "transfer", args: [alice.address, 6n * DOLLAR] } as const;
  await primary.client.sendTransaction({
    ...{ account: payer, to: primary.stablecoin, data: encodeFunctionData(away), gas: 200_000n },
    ...{ maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 11n },
  });
  await mineOn(primary);
  await eventually(async () =>
    /would fail at present: ERC20: transfer amount exceeds/.test((await get(id)).waits_for ?? ""),
  );
  await primary.client.setNextBlockTimestamp({ timestamp: BigInt(deadline) });
  await primary.client.mine({ blocks: 1 });
  aheadMs += 6_000;
  const over = await state(id, "expired");
  equal(over.reason, null);
  equal(await creditOf(payer.address), 0n);
  aheadMs = 0;
});

test("an x402 payment becomes its signer's credit once: settled, or claimed if it was executed without the door", async () => {
  const [quote] = await quotes();
  for (const isFrontRun of [false, true]) {
    const payer = await payerOn(primary, 1n);
    const payment = await x402(payer, quote, String(DOLLAR));
    if (isFrontRun) await execute(payment);
    const answers = await Promise.all([1, 2, 3].map(() => post("payments", payment)));
    const { id } = answers[0] ?? { id: "" };
    const paid = await state(id, "confirmed");
    deepEqual([paid.kind, paid.account, paid.amount_token], ["x402", payer.address.toLowerCase(), String(DOLLAR)]);
    equal(await creditOf(payer.address), DOLLAR * 1_000n, isFrontRun ? "claimed" : "settled");
    equal((await post("payments", payment)).transaction, paid.transaction);
  }
});

test("an x402 payment that is too small, for another payee, expired, forged or canceled is refused", async () => {
  const [quote] = await quotes();
  const payer = await payerOn(primary, 1n);
  const sent = await sentBy(primary);
  const good = await x402(payer, quote, String(DOLLAR));
  const with_ = (change: object) => ({ ...good, authorization: { ...good.authorization, ...change } });
  const past = String(Math.floor(Date.now() / 1_000) - 1);
  const refusals: [object, string, RegExp][] = [
    [await x402(payer, quote, "99999"), "payment_refused", /at least \$0\.1\./],
    [with_({ to: alice.address }), "payment_refused", /must go to/],
    [with_({ validBefore: past }), "payment_refused", /has passed/],
    [with_({ validAfter: String(2n ** 60n) }), "payment_refused", /not valid yet/],
    [with_({ value: "900000" }), "invalid_signature", /not the payer's/],
    [with_({ from: alice.address }), "invalid_signature", /not the payer's/],
    [{ ...good, chain_id: 31339 }, "payment_refused", /cannot be paid on this chain/],
  ];
  for (const [body, code, message] of refusals) {
    const { error } = await request("POST", "payments", body);
    equal(error?.code, code, error?.message);
    match(error?.message ?? "", message);
  }
  equal(await sentBy(primary), sent);
});

function fresh(): KeeperSettings {
  const given = chains.settings();
  const { host, dailyBudgetWei } = { host: "127.0.0.1", dailyBudgetWei: 10n ** 19n };
  const key = toHex(relay.getHdKey().privateKey ?? new Uint8Array());
  return {
    ...{ ...given, pollMs: 60_000, relay: { host, port: 0, dailyBudgetWei, key, secret: SECRET } },
    chains: given.chains.map((chain) => ({ ...chain, relay: terms })),
  };
}

async function start(given: KeeperSettings): Promise<void> {
  settings = given;
  const log = (level: string, event: string, fields?: unknown): void => {
    if (process.env.TELL) console.error(level, event, JSON.stringify(fields));
    events.push({ level, event });
  };
  keeper = startKeeper(given, { now: () => Date.now() + aheadMs, log });
  url = `http://127.0.0.1:${await keeper.relayPort}`;
}

/** The same database: what was accepted goes on. */
async function restart(): Promise<void> {
  await keeper.stop();
  await start(settings);
}

async function payerOn(site: ChainSite, dollars: bigint): Promise<PrivateKeyAccount> {
  const payer = privateKeyToAccount(generatePrivateKey());
  await fundDollars(site, { issuer: deployer, to: payer.address, dollars });
  return payer;
}

async function quotes(): Promise<RelayQuote[]> {
  const answer = await fetch(`${url}/quotes`, { headers: { authorization: `Bearer ${SECRET}` } });
  return relayQuotes.parse(await answer.json()).chains;
}

async function signed(
  site: ChainSite,
  payer: PrivateKeyAccount,
  change: Partial<TopUpTerms> = {},
  beforeSending?: () => Promise<void>,
): Promise<TopUpBody> {
  const quote = (await quotes()).find(({ chain_id: id }) => id === site.chain.chainId) as RelayQuote;
  const top_up: TopUpTerms = {
    ...{ owner: payer.address, account: payer.address, amount: String(5n * DOLLAR), fee: quote.fee_token },
    ...{ feeTo: quote.fee_to, deadline: Math.floor(Date.now() / 1_000) + 3_600, salt: generatePrivateKey() },
    ...change,
  };
  const base = { chain_id: quote.chain_id, top_up };
  let body: TopUpBody;
  if (quote.method === "authorization") {
    body = { ...base, signature: await payer.signTypedData(receiveTypedData(quote, top_up)) };
  } else {
    const permit = permitTypedData(quote, top_up, { nonce: 0n, deadline: BigInt(top_up.deadline) });
    body = {
      ...{ ...base, signature: await payer.signTypedData(topUpTypedData(quote, top_up)) },
      permit: { deadline: top_up.deadline, signature: await payer.signTypedData(permit) },
    };
  }
  await beforeSending?.();
  return body;
}

async function x402(payer: PrivateKeyAccount, quote: RelayQuote | undefined, value: string) {
  if (quote?.x402 == null) throw new Error("no x402");
  const authorization = {
    ...{ from: payer.address, to: quote.x402.pay_to, value, validAfter: "0", nonce: generatePrivateKey() },
    // The chain's clock may be ahead.
    validBefore: String(Math.floor(Date.now() / 1_000) + 3_600),
  };
  const signature = await payer.signTypedData(transferTypedData(quote, authorization));
  return { chain_id: quote.chain_id, authorization, signature };
}

/** Executes a payment on the stablecoin, without the door. */
async function execute({ authorization, signature }: Awaited<ReturnType<typeof x402>>): Promise<void> {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const { r, s, yParity } = parseSignature(signature);
  const hash = await primary.client.writeContract({
    ...{ address: primary.stablecoin, abi: stablecoinAbi, functionName: "transferWithAuthorization", account: alice },
    args: [
      ...[from, to as Address, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, 27 + yParity, r, s],
    ] as never,
  });
  await primary.sent(hash);
  await primary.client.mine({ blocks: 1 });
}

async function cancel(payer: PrivateKeyAccount, { top_up }: TopUpBody): Promise<void> {
  const [quote] = await quotes();
  if (quote === undefined) throw new Error("no quote");
  const { domain, message } = receiveTypedData(quote, top_up);
  const signature = await payer.signTypedData({
    domain,
    types: {
      CancelAuthorization: [
        { name: "authorizer", type: "address" },
        { name: "nonce", type: "bytes32" },
      ],
    },
    primaryType: "CancelAuthorization",
    message: { authorizer: payer.address, nonce: message.nonce },
  });
  const { r, s, yParity } = parseSignature(signature);
  const call = {
    address: primary.stablecoin,
    abi: cancelAbi,
    functionName: "cancelAuthorization",
    account: alice,
  } as const;
  await primary.sent(
    await primary.client.writeContract({ ...call, args: [payer.address, message.nonce, 27 + yParity, r, s] }),
  );
}

async function mineOn({ client }: ChainSite): Promise<void> {
  await client.mine({ blocks: 1 });
  await client.setAutomine(true);
}

type Answer = Partial<Relayed> & { error?: { code: string; message: string } };

async function request(method: string, path: string, body?: unknown): Promise<Answer> {
  const headers = { authorization: `Bearer ${SECRET}`, "content-type": "application/json" };
  const answer = await fetch(`${url}/${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await answer.json()) as Answer;
}

async function post(path: string, body: unknown): Promise<Relayed> {
  return topUpAnswer.parse({ data: await request("POST", path, body) }).data;
}

async function get(id: string): Promise<Relayed> {
  return topUpAnswer.parse({ data: await request("GET", `payments/${id}`) }).data;
}

function state(id: string, wanted: Relayed["state"]): Promise<Relayed> {
  return eventually(async () => {
    const found = await get(id);
    return found.state === wanted && found;
  });
}

function dollarsOf({ client, stablecoin }: ChainSite, account: Address): Promise<bigint> {
  return client.readContract({ address: stablecoin, abi: stablecoinAbi, functionName: "balanceOf", args: [account] });
}

function creditOf(account: Address): Promise<bigint> {
  const settlement = { address: primary.at("inferenceSettlement"), abi: inferenceSettlementAbi } as const;
  return primary.client.readContract({ ...settlement, functionName: "creditNanoUsd", args: [account] });
}

function sentBy({ client }: ChainSite): Promise<number> {
  return client.getTransactionCount({ address: relay.address });
}
