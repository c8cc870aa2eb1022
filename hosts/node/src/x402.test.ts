import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { x402Chat as chat, x402Payment } from "@inference/gateway/test/x402";
import { errorAnswer } from "@inference/protocol/wire/answers";
import { decodePaymentResponseHeader } from "@x402/fetch";
import type { Address } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { startX402Stack, type X402Stack, x402Payer } from "./testing/x402-stack.ts";

/** Requests that pay for themselves, with the official client and with attackers. `x402.deep.test.ts` has the rest. */
const PATH = "/api/v1/chat/completions";
let x402: X402Stack;
let url: string;
before(async () => {
  x402 = await startX402Stack();
  url = `${x402.stack.url}${PATH}`;
});
beforeEach(() => x402.asked.splice(0));
after(() => x402.stop());
const paidTimes = () => x402.asked.filter((asked) => asked === "POST /payments").length;
const send = (headers: Record<string, string>, init = chat(), to = url) => fetch(to, { ...init, headers });

test("the official client, unchanged and without a key, pays, is served, and the rest is its signer's balance", async () => {
  const { account, pay, sent } = x402Payer();
  x402.does.credits = "later";
  const answer = await pay(url, chat());
  x402.does.credits = "at once";
  equal(answer.status, 200, await answer.clone().text());
  deepEqual([sent.length, paidTimes()], [2, 1]);
  const { success, payer: who, amount } = decodePaymentResponseHeader(answer.headers.get("payment-response") ?? "");
  deepEqual([success, who?.toLowerCase(), amount], [true, account.address.toLowerCase(), "100000"]);
  const { usage } = (await answer.json()) as { usage: { cost_nano_usd: number } };
  const { settledNanoUsd, heldNanoUsd, availableNanoUsd } = await x402.stack.balance(account.address);
  deepEqual([settledNanoUsd, heldNanoUsd], [usage.cost_nano_usd, 0], "metered exactly");
  equal(availableNanoUsd, 100_000_000 - usage.cost_nano_usd);
  ok(Number(answer.headers.get("x-balance-usd")) > 0, answer.headers.get("x-balance-usd") ?? "no balance");
});

test("a body above 4 KiB is read and priced before it is paid, once, with what it needs", async () => {
  const { pay } = x402Payer();
  const large = "word ".repeat(2_000);
  equal((await pay(url, chat(large))).status, 200);
  equal(paidTimes(), 1);
  const { account } = x402Payer();
  const dear = await send((await x402Payment(account)).headers, chat(large, { model: "sim-large", max_tokens: 8_000 }));
  const { error } = errorAnswer.parse(await dear.json());
  deepEqual([dear.status, error.code], [402, "payment_refused"], error.message);
  ok(Number(error.metadata?.needed_nano_usd) > 100_000_000);
  equal(paidTimes(), 1, "the small payment was not made");
});

test("one payment serves one request: the same again is the kept answer, another body or endpoint is refused, all at once too", async () => {
  const { account, pay, sent } = x402Payer();
  const first = await (await pay(url, chat("one"))).text();
  const headers = Object.fromEntries((sent[1] as Request).headers);
  const spent = await x402.stack.balance(account.address);
  x402.pass(400_000);
  const again = await send(headers, chat("one"));
  deepEqual([again.status, again.headers.get("idempotent-replayed"), await again.text()], [200, "true", first]);
  const others: [string, ReturnType<typeof chat>][] = [
    [url, chat("two")],
    [`${x402.stack.url}/api/v1/messages`, chat("one")],
    [`${x402.stack.url}/api/v1/embeddings`, { ...chat(), body: JSON.stringify({ model: "sim-embed", input: "one" }) }],
  ];
  for (const [to, init] of others) {
    const other = await send(headers, init, to);
    deepEqual([other.status, await codeOf(other)], [422, "idempotency_mismatch"], to);
  }
  deepEqual(await x402.stack.balance(account.address), spent);
  equal(paidTimes(), 1);

  const many = x402Payer();
  const { headers: unused } = await x402Payment(many.account);
  const answers = await Promise.all(Array.from({ length: 8 }, () => send(unused)));
  const served = answers.filter(({ status, headers: h }) => status === 200 && h.get("idempotent-replayed") === null);
  equal(served.length, 1, answers.map(({ status }) => status).join());
  equal((await x402.stack.balance(many.account.address)).availableNanoUsd > 0, true);
});

test("who reads a payment's nonce on the chain, and cannot sign, spends and learns nothing", async () => {
  const { account } = x402Payer();
  const { headers, forged } = await x402Payment(account);
  equal((await send(headers, chat("mine"))).status, 200);
  const spent = await x402.stack.balance(account.address);
  x402.asked.splice(0);
  for (const init of [chat("a thief's"), chat("mine"), chat("dear", { max_tokens: 100_000 })]) {
    const stolen = await send(forged, init);
    deepEqual([stolen.status, await codeOf(stolen)], [401, "invalid_signature"]);
  }
  deepEqual(await x402.stack.balance(account.address), spent);
  deepEqual(x402.asked, [], "the relay was not asked");
});

test("who copies a payment from the mempool gets no request of his own served from its signer's balance", async () => {
  const { account } = x402Payer();
  await x402.stack.account(7_770_000_000, { address: account.address.toLowerCase() as Address });
  const { settledNanoUsd } = await x402.stack.balance(account.address);
  const copied = await x402Payment(account);
  await x402.execute(copied.authorization);
  for (const init of [chat("a thief's"), chat("dear", { model: "sim-large", max_tokens: 4_000 })]) {
    const stolen = await send(copied.headers, init);
    const text = await stolen.text();
    match(text, stolen.status === 422 ? /idempotency_mismatch.*|for another request/ : /payment_refused/);
    doesNotMatch(text, /7\.77|77[67]\d{7}|available/, "the balance is its owner's to know");
    equal(stolen.headers.get("x-balance-usd"), null);
  }
  // The signer's own request came first, and is about to take its hold.
  const own = await x402Payment(account);
  const [mine, stolen] = await Promise.all([send(own.headers, chat("mine")), send(own.headers, chat("a thief's"))]);
  deepEqual([mine.status, stolen.status].sort(), [200, 422], "one of the two");
  const served = mine.status === 200 ? await usageOf(mine) : await usageOf(stolen);
  equal((await x402.stack.balance(account.address)).settledNanoUsd, settledNanoUsd + served);
});

test("what cannot be served or paid is refused before the payment is made, and says how to pay", async () => {
  const { account } = x402Payer();
  const bare = await fetch(url, chat());
  const { error } = errorAnswer.parse(await bare.json());
  deepEqual([bare.status, error.code], [402, "payment_required"]);
  ok(bare.headers.get("payment-required") !== null);
  match(JSON.stringify(error.metadata?.top_up), /"payTo":"0x4{40}"/);
  const now = Math.floor(x402.stack.now() / 1_000);
  const payment = async (change = {}) =>
    (await x402Payment(account, { validBefore: String(now + 300), ...change })).headers;
  const tries: [Record<string, string>, ReturnType<typeof chat>, RegExp][] = [
    [await payment(), chat("x", { model: "no-such" }), /model_not_found/],
    [await payment({ to: account.address }), chat(), /Pay to/],
    [await payment({ network: "eip155:1" }), chat(), /Pay on eip155:31337/],
    [{ ...chat().headers, "payment-signature": "nonsense" }, chat(), /must be the base64/],
    [await payment({ value: "1" }), chat("x", { max_tokens: 4_000 }), /payment_refused/],
    [await payment({ validBefore: String(now - 1) }), chat(), /payment_refused/],
    [await payment({ validBefore: String(now + 86_460) }), chat(), /payment_refused.*24 h|24 h/],
    [await payment({ signer: privateKeyToAccount(generatePrivateKey()) }), chat(), /invalid_signature/],
  ];
  for (const [headers, init, told] of tries) match(await (await send(headers, init)).text(), told);
  const { key, address } = await x402.stack.account(1_000_000_000);
  for (const token of [key, await x402.stack.openSession(address)]) {
    const mixed = { ...(await payment()), authorization: `Bearer ${token}` };
    match(await (await send(mixed)).text(), /spends another balance/);
  }
  equal(paidTimes(), 0);
});

async function codeOf(answer: Response): Promise<string> {
  const body = (await answer.json()) as { error: { code?: string } };
  return body.error.code ?? JSON.stringify(body);
}

async function usageOf(answer: Response): Promise<number> {
  return ((await answer.json()) as { usage: { cost_nano_usd: number } }).usage.cost_nano_usd;
}
