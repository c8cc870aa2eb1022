import { deepEqual, equal, match, ok } from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { activate } from "@inference/gateway/test/fund";
import { paymentId, transferTypedData } from "@inference/protocol/top-up";
import { errorAnswer } from "@inference/protocol/wire/answers";
import { paymentBody, type Relayed, type RelayQuote } from "@inference/protocol/wire/top-up";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { type Hex, verifyTypedData } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { type Stack, startStack } from "./testing/stack.ts";

/**
 * The gateway's side of x402, with the official client. The relay here is a double: it checks the signature, and credits
 * the signer once for each nonce, as the door does. `keeper/src/relay/relay.test.ts` has the relay on real chains.
 */
const PATH = "/api/v1/chat/completions";
const quote: RelayQuote = {
  ...{ chain_id: 31_337, method: "authorization", contract: `0x${"1".repeat(40)}` },
  stablecoin: { address: `0x${"2".repeat(40)}`, name: "USD Coin", version: "2", decimals: 6 },
  ...{ fee_token: "20000", fee_to: `0x${"3".repeat(40)}`, least_token: "1000000", longest_s: 86_400 },
  x402: { pay_to: `0x${"4".repeat(40)}`, least_token: "100000" },
};
let stack: Stack;
let relay: Server;
/** By payer. */
const creditNano = new Map<string, number>();
const made = new Map<string, Relayed>();
let creditsLater = false;

before(async () => {
  relay = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const [status, body] = await answer(request.url ?? "", text);
    response.writeHead(status).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(relay.address() as AddressInfo).port}`;
  stack = await startStack({ relay: { url, secret: "s".repeat(32) } });
});
after(async () => {
  await stack.stop();
  relay.closeAllConnections();
  relay.close();
});

async function answer(path: string, text: string): Promise<[number, unknown]> {
  if (path === "/quotes") return [200, { chains: [quote] }];
  if (path.startsWith("/payments/")) return [200, made.get(path.slice("/payments/".length))];
  const { authorization, signature } = paymentBody.parse(JSON.parse(text));
  const typedData = transferTypedData(quote, authorization);
  const isSigned = await verifyTypedData({ address: authorization.from as Hex, ...typedData, signature });
  if (!isSigned) return [401, { error: { code: "invalid_signature", message: "The signature is not the payer's." } }];
  const id = paymentId(31_337, authorization);
  const payment: Relayed = made.get(id) ?? {
    ...{
      id,
      kind: "x402",
      chain_id: 31_337,
      owner: authorization.from,
      account: authorization.from,
      state: "confirmed",
    },
    ...{ amount_token: authorization.value, fee_token: "0", transaction: `0x${"5".repeat(64)}`, block: 1 },
    ...{ waits_for: null, reason: null, expires_at: new Date().toISOString() },
  };
  if (!made.has(id)) {
    made.set(id, payment);
    const payer = authorization.from.toLowerCase();
    creditNano.set(payer, (creditNano.get(payer) ?? 0) + Number(authorization.value) * 1_000);
    const credit = () => activate(stack.put, payer as Hex, creditNano.get(payer) ?? 0);
    if (creditsLater) setTimeout(() => void credit(), 300);
    else await credit();
  }
  return [200, payment];
}

const chat = (content = "hello", more: object = {}) => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ model: "sim-small", max_tokens: 50, messages: [{ role: "user", content }], ...more }),
});

/** The official client, which keeps what it sent. */
function payer() {
  const account = privateKeyToAccount(generatePrivateKey());
  const schemes = [{ network: "eip155:31337" as const, client: new ExactEvmScheme(account) }];
  // The client knows the dollars of real chains by itself.
  const client = x402Client.fromConfig({ schemes, spendControls: { allowedAssets: true } });
  const sent: Request[] = [];
  const keeping: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    sent.push(request.clone());
    return fetch(request);
  };
  return { account, sent, pay: wrapFetchWithPayment(keeping, client) };
}

test("the official client, unchanged and without a key, pays, is served, and the rest is its signer's balance", async () => {
  const { account, pay, sent } = payer();
  creditsLater = true;
  const answer = await pay(`${stack.url}${PATH}`, chat());
  creditsLater = false;
  equal(answer.status, 200, await answer.clone().text());
  equal(sent.length, 2);
  const { success, payer: who, amount } = decodePaymentResponseHeader(answer.headers.get("payment-response") ?? "");
  deepEqual([success, who?.toLowerCase(), amount], [true, account.address.toLowerCase(), "100000"]);
  const { usage } = (await answer.json()) as { usage: { cost_nano_usd: number } };
  const { settledNanoUsd, heldNanoUsd, availableNanoUsd } = await stack.balance(account.address);
  deepEqual([settledNanoUsd, heldNanoUsd], [usage.cost_nano_usd, 0], "metered exactly");
  equal(availableNanoUsd, 100_000_000 - usage.cost_nano_usd);
  ok(Number(answer.headers.get("x-balance-usd")) > 0, answer.headers.get("x-balance-usd") ?? "no balance");
});

test("one payment serves one request: the same again is the kept answer, another body or endpoint is refused, all at once too", async () => {
  const { account, pay, sent } = payer();
  const first = await (await pay(`${stack.url}${PATH}`, chat("one"))).text();
  const paid = sent[1] as Request;
  const headers = Object.fromEntries(paid.headers);
  const spent = await stack.balance(account.address);
  const again = await fetch(`${stack.url}${PATH}`, { ...chat("one"), headers });
  deepEqual([again.status, again.headers.get("idempotent-replayed"), await again.text()], [200, "true", first]);
  const other = await fetch(`${stack.url}${PATH}`, { ...chat("two"), headers });
  deepEqual([other.status, await codeOf(other)], [422, "idempotency_mismatch"]);
  const elsewhere = await fetch(`${stack.url}/api/v1/embeddings`, {
    ...{ method: "POST", headers, body: JSON.stringify({ model: "sim-embed", input: "one" }) },
  });
  ok(elsewhere.status >= 400, String(elsewhere.status));
  deepEqual(await stack.balance(account.address), spent);

  const many = payer();
  const { headers: unused } = await signedRequest(many.account);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => fetch(`${stack.url}${PATH}`, { ...chat(), headers: unused })),
  );
  const served = answers.filter(({ status, headers: h }) => status === 200 && h.get("idempotent-replayed") === null);
  equal(served.length, 1, answers.map(({ status }) => status).join());
  equal(creditNano.get(many.account.address.toLowerCase()), 100_000_000, "credited once");
});

test("what cannot be served or paid is refused before the payment is made, and says how to pay", async () => {
  const { account } = payer();
  const url = `${stack.url}${PATH}`;
  const bare = await fetch(url, chat());
  const { error } = errorAnswer.parse(await bare.json());
  deepEqual([bare.status, error.code], [402, "payment_required"]);
  ok(bare.headers.get("payment-required") !== null);
  match(JSON.stringify(error.metadata?.top_up), /"payTo":"0x4{40}"/);
  const dear = errorAnswer.parse(
    await (await fetch(url, chat("x", { max_tokens: 100_000, model: "sim-large" }))).json(),
  );
  ok(JSON.stringify(dear.error).length > 0);

  const before = made.size;
  const tries: [Record<string, string>, object, RegExp][] = [
    [(await signedRequest(account)).headers, { ...chat("x", { model: "no-such" }) }, /model_not_found/],
    [(await signedRequest(account, { to: account.address })).headers, chat(), /payment_refused.*Pay to|Pay to/],
    [(await signedRequest(account, {}, "eip155:1")).headers, chat(), /Pay on eip155:31337/],
    [{ ...chat().headers, "payment-signature": "nonsense" }, chat(), /must be the base64/],
    [(await signedRequest(account, { value: "1" })).headers, chat("x", { max_tokens: 4_000 }), /payment_refused/],
  ];
  for (const [headers, init, told] of tries) match(await (await fetch(url, { ...init, headers })).text(), told);
  const forged = await signedRequest(account, {}, undefined, privateKeyToAccount(generatePrivateKey()));
  match(await (await fetch(url, { ...chat(), headers: forged.headers })).text(), /invalid_signature/);
  equal(made.size, before, "nothing was paid");
  const { key } = await stack.account(1_000_000_000);
  const mixed = { ...(await signedRequest(account)).headers, authorization: `Bearer ${key}` };
  match(await (await fetch(url, { ...chat(), headers: mixed })).text(), /spends another balance/);
});

/** A request with a payment as the official client makes it, with changed terms, or signed by another. */
async function signedRequest(
  account: ReturnType<typeof privateKeyToAccount>,
  change: { to?: string; value?: string } = {},
  network = "eip155:31337",
  signer = account,
) {
  const authorization = {
    ...{
      from: account.address,
      to: quote.x402?.pay_to ?? "",
      value: "100000",
      validAfter: "0",
      nonce: generatePrivateKey(),
    },
    ...{ validBefore: String(Math.floor(Date.now() / 1_000) + 300), ...change },
  };
  const signature = await signer.signTypedData(transferTypedData(quote, authorization));
  const accepted = { scheme: "exact", network, asset: quote.stablecoin.address, payTo: quote.x402?.pay_to };
  const payload = { x402Version: 2, accepted, payload: { authorization, signature } };
  const header = Buffer.from(JSON.stringify(payload)).toString("base64");
  return { headers: { "content-type": "application/json", "payment-signature": header } };
}

async function codeOf(answer: Response): Promise<string> {
  return errorAnswer.parse(await answer.json()).error.code;
}
