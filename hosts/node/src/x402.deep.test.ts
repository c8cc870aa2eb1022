import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { x402Chat as chat, x402Payment } from "@inference/gateway/test/x402";
import { accountPartition, chainPartition } from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import { reserve } from "@inference/ledger/testing/example";
import { eventually } from "@inference/protocol/testing/eventually";
import { errorAnswer } from "@inference/protocol/wire/answers";
import type { Address, Hex } from "viem";
import { startStack } from "./testing/stack.ts";
import { startX402Stack, type X402Stack, x402Payer } from "./testing/x402-stack.ts";

/** The outcome of a paid request if relay, chain, client or account fail. */
let x402: X402Stack;
let url: string;
before(async () => {
  x402 = await startX402Stack();
  url = `${x402.stack.url}/api/v1/chat/completions`;
});
beforeEach(() => {
  x402.asked.splice(0);
  Object.assign(x402.does, { credits: "at once", fails: null, hangsUp: false, quotes: true });
});
after(() => x402.stop());
const paidTimes = () => x402.asked.filter((asked) => asked === "POST /payments").length;
const send = (headers: Record<string, string>, init: RequestInit = chat(), to = url) => fetch(to, { ...init, headers });
/** A payment that is valid at the gateway's time. */
type Change = { value?: string; nonce?: Hex; account?: ReturnType<typeof x402Payer>["account"] };
const payment = (change: Change = {}) => {
  const { account = x402Payer().account, ...terms } = change;
  const validBefore = String(Math.floor(x402.stack.now() / 1_000) + 300);
  return x402Payment(account, { validBefore, ...terms });
};
const addressOf = ({ from }: { from: string }) => from.toLowerCase() as Address;

test("a relay that hangs up may have the payment: the error says so, and the same again pays once", async () => {
  x402.does.hangsUp = true;
  const { authorization, headers } = await payment();
  const lost = await send(headers);
  match(await lost.text(), /chain_unavailable/);
  match(await (await send(headers)).text(), /may be on its way/);
  x402.does.hangsUp = false;
  equal((await send(headers)).status, 200);
  const { settledNanoUsd, availableNanoUsd } = await x402.stack.balance(addressOf(authorization));
  equal(settledNanoUsd + availableNanoUsd, 100_000_000, "credited once");
});

test("a payment without a credit in time is on its way: the same again is served once it is credited", async () => {
  x402.does.credits = "never";
  const { authorization, headers } = await payment();
  const late = await send(headers);
  const text = await late.text();
  deepEqual([late.status, late.headers.get("x-should-retry")], [503, "true"], text);
  const end = new Date(Number(authorization.validBefore) * 1_000).toISOString();
  match(text, /on its way, and not in the balance yet.*0x5{64}.*top-up\/0x/);
  ok(text.includes(`until ${end}: it pays once. After that its dollars are in the balance`), text);
  x402.does.credits = "at once";
  await x402.credit(authorization);
  equal((await send(headers)).status, 200);
});

test("a client that leaves while its payment is on its way loses nothing: nothing is held, and the same again is served", async () => {
  x402.does.credits = "later";
  const { authorization, headers } = await payment();
  const gone = new AbortController();
  const leaving = fetch(url, { ...chat(), headers, signal: gone.signal }).catch(() => "gone");
  await eventually(() => paidTimes() === 1);
  gone.abort();
  equal(await leaving, "gone");
  const { heldNanoUsd, settledNanoUsd } = await x402.stack.balance(addressOf(authorization));
  deepEqual([heldNanoUsd, settledNanoUsd], [0, 0]);
  await eventually(async () => (await x402.stack.balance(addressOf(authorization))).availableNanoUsd === 100_000_000);
  equal((await send(headers)).status, 200);
  equal((await send(headers, chat("a thief's"))).status, 422, "another request is still another request");
});

test("a failed payment is told with the relay's own sentence", async () => {
  x402.does.fails = "It was used before: see the chain.";
  const { headers } = await payment();
  const failed = await send(headers);
  const { error } = errorAnswer.parse(await failed.json());
  deepEqual([failed.status, error.code, error.message], [402, "payment_refused", "It was used before: see the chain."]);
});

test("dollars that other requests of the payer spent meanwhile are an ordinary refusal, at once", async () => {
  const account = x402Payer().account;
  const payer = account.address.toLowerCase() as Address;
  x402.does.credits = "never";
  const { authorization, headers } = await payment({ account });
  await (await send(headers)).text();
  await x402.credit(authorization);
  const { digest } = await x402.stack.addKey(payer);
  const { type: _, ...all } = reserve("another", 100_000_000, { payer: { kind: "key", digest }, at: x402.stack.now() });
  const owner = accountPartition(payer);
  const held = x402.stack.ledger.run(() => reserveRequest({ ...all, owner, chain: chainPartition(31_337) }));
  equal((await held).status, "reserved");
  const refused = await send(headers);
  deepEqual([refused.status, errorAnswer.parse(await refused.json()).error.code], [429, "budget_reserved"]);
});

test("an account without room for a key is told before it pays, and pays with a key of its own", async () => {
  const account = x402Payer().account;
  const payer = account.address.toLowerCase() as Address;
  const { key } = await x402.stack.account(0, { address: payer });
  for (let n = 1; n < 100; n++) await x402.stack.addKey(payer);
  const { headers } = await payment({ account });
  match(await (await send(headers)).text(), /can have no key.*not sent/);
  equal(paidTimes(), 0);
  const served = await send({ ...headers, authorization: `Bearer ${key}` });
  equal(served.status, 200, await served.clone().text());
});

test("a key's own limit and models refuse before the payment, and its balance counts beside the payment", async () => {
  const account = x402Payer().account;
  const payer = account.address.toLowerCase() as Address;
  await x402.stack.account(0, { address: payer });
  const narrow = await x402.stack.addKey(payer, { models: ["sim-large"] });
  const poor = await x402.stack.addKey(payer, { window: "lifetime", limitNanoUsd: 1 });
  for (const [{ key }, code] of [
    [narrow, /model_not_allowed/],
    [poor, /key_limit_exceeded/],
  ] as const) {
    const { headers } = await payment({ account });
    match(await (await send({ ...headers, authorization: `Bearer ${key}` })).text(), code);
  }
  equal(paidTimes(), 0);
});

test("a limit on the key for paid requests refuses before the payment, without a figure, and the owner's key does not need it", async () => {
  const account = x402Payer().account;
  const payer = account.address.toLowerCase() as Address;
  equal((await send((await payment({ account })).headers)).status, 200);
  const { keyId, credential } = x402.stack.credentials.ofPayments(payer);
  const at = x402.stack.now();
  const terms = { at, keyId, nonce: "a limit", nonceExpiresAt: at + 60_000 };
  await x402.stack.put(credential.partition, {
    type: "setKeyTerms",
    id: "a limit",
    ...terms,
    window: "lifetime",
    limitNanoUsd: 77,
  });
  x402.asked.splice(0);
  const { headers } = await payment({ account });
  const refused = await send(headers, chat("again"));
  const { error } = errorAnswer.parse(await refused.json());
  deepEqual([refused.status, error.code], [402, "payment_refused"]);
  match(error.message, /above a limit.*`x402 payments`.*not sent now/);
  doesNotMatch(error.message, /77/);
  equal(paidTimes(), 0);
  const { key } = await x402.stack.addKey(payer);
  equal((await send({ ...headers, authorization: `Bearer ${key}` }, chat("again"))).status, 200);
});

test("a second amount with the nonce of another payment is refused, and spends nothing of its signer's balance", async () => {
  const account = x402Payer().account;
  const payer = account.address.toLowerCase() as Address;
  const { key } = await x402.stack.account(0, { address: payer });
  x402.does.credits = "never";
  const small = await payment({ account });
  match(await (await send({ ...small.headers, authorization: `Bearer ${key}` })).text(), /not in the balance yet/);
  await x402.stack.account(1_000_000_000, { address: payer });
  const nonce = small.authorization.nonce as Hex;
  const large = await send((await payment({ account, nonce, value: "900000" })).headers);
  const { error } = errorAnswer.parse(await large.json());
  deepEqual([large.status, error.code], [402, "payment_refused"]);
  match(error.message, /is \$0\.9\. The relay has one of \$0\.1 with the same nonce/);
  const { settledNanoUsd, heldNanoUsd } = await x402.stack.balance(payer);
  deepEqual([settledNanoUsd, heldNanoUsd], [0, 0]);
});

test("a payment's copies count for the networks that send them, and not for its payer's", async () => {
  await using stack = await startStack({
    relay: x402.relay,
    operator: { accountRequestsPerMinute: 3, addressHeader: "x-address" },
  });
  const { headers } = await payment();
  const from = (address: string) =>
    send({ ...headers, "x-address": address }, chat("x", { model: "no-such" }), `${stack.url}/api/v1/chat/completions`);
  const statuses: number[] = [];
  for (const address of ["192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2"]) {
    statuses.push((await from(address)).status);
  }
  deepEqual(statuses, [404, 404, 404, 429, 404]);
});

test("a revoked key for paid requests refuses payments before they are made", async () => {
  const account = x402Payer().account;
  equal((await send((await payment({ account })).headers)).status, 200);
  const { keyId, credential } = x402.stack.credentials.ofPayments(account.address.toLowerCase() as Address);
  await x402.stack.put(credential.partition, { type: "revokeKey", at: x402.stack.now(), keyId });
  x402.asked.splice(0);
  const refused = await send((await payment({ account })).headers, chat("again"));
  deepEqual([refused.status, errorAnswer.parse(await refused.json()).error.code], [401, "invalid_api_key"]);
  equal(paidTimes(), 0);
});

test("streams are paid and metered; the same again is not served twice; titles tag, and other idempotency keys are ignored", async () => {
  const { authorization, headers } = await payment();
  const more = { ...headers, "x-title": "agent", "idempotency-key": "mine" };
  const stream = await send(more, chat("stream", { stream: true }));
  equal(stream.status, 200);
  match(stream.headers.get("x-ignored-parameters") ?? "", /Idempotency-Key/);
  ok(stream.headers.get("payment-response") !== null);
  match(await stream.text(), /data: \[DONE\]/);
  const spent = await eventually(async () => {
    const { settledNanoUsd, heldNanoUsd } = await x402.stack.balance(addressOf(authorization));
    return heldNanoUsd === 0 && settledNanoUsd > 0 && settledNanoUsd;
  });
  const again = await send(more, chat("stream", { stream: true }));
  deepEqual([again.status, errorAnswer.parse(await again.json()).error.code], [409, "idempotency_completed"]);
  equal((await x402.stack.balance(addressOf(authorization))).settledNanoUsd, spent);
});

test("a form is told the least amount; without quotes the relay is asked once in 3 s and a bare request gets 401", async () => {
  const form = new FormData();
  form.set("model", "sim-whisper");
  form.set("file", new Blob(["RIFF"]), "a.wav");
  const bare = await fetch(`${x402.stack.url}/api/v1/audio/transcriptions`, { method: "POST", body: form });
  equal(bare.status, 402);
  const required = JSON.parse(Buffer.from(bare.headers.get("payment-required") ?? "", "base64").toString());
  equal(required.accepts[0].amount, "100000");
  x402.pass(20_000);
  x402.does.quotes = false;
  x402.asked.splice(0);
  for (let n = 0; n < 5; n++) equal((await fetch(url, chat())).status, 401);
  deepEqual(x402.asked, ["GET /quotes"]);
  x402.pass(3_001);
  x402.does.quotes = true;
  equal((await fetch(url, chat())).status, 402);
});

test("no request with a payment makes a signature check of another form pass", async () => {
  const { authorization, headers } = await payment();
  const sent = JSON.parse(Buffer.from(headers["payment-signature"] ?? "", "base64").toString());
  const with_ = (signature: string, change = {}) => ({
    ...headers,
    "payment-signature": Buffer.from(
      JSON.stringify({ ...sent, payload: { authorization: { ...authorization, ...change }, signature } }),
    ).toString("base64"),
  });
  const { signature } = sent.payload as { signature: Hex };
  const swap = (letter: string) => (letter < "a" ? letter.toLowerCase() : letter.toUpperCase());
  const misspelt = `0x${authorization.from.slice(2).replace(/[a-fA-F]/, swap)}`;
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const highS = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, "0");
  const other = signature.endsWith("1b") ? "1c" : "1b";
  const forms = [
    with_(`${signature.slice(0, 66)}${highS}${other}`),
    with_(signature, { value: "200000" }),
    with_(signature, { validBefore: String(Number(authorization.validBefore) + 1) }),
    with_(signature, { from: x402Payer().account.address }),
    with_(signature, { from: misspelt, value: "3" }),
    with_(signature, { value: "9".repeat(78) }),
    with_(signature, { validAfter: "9".repeat(78) }),
    with_("0x"),
    with_(`${signature}${"00".repeat(64)}`),
  ];
  for (const each of forms) {
    const refused = await (await send(each)).text();
    match(refused, /invalid_signature|must be the base64|below 2\^256/);
    doesNotMatch(refused, /available/);
  }
  equal(paidTimes(), 0);
  equal((await send(with_(signature, { from: misspelt }))).status, 200, "letters' case is no part of an address");
});
