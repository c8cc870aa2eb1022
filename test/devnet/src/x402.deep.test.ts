import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { before, test } from "node:test";
import { connectDeployer, send } from "@inference/contracts/deployer";
import { transferTypedData } from "@inference/protocol/top-up";
import { topUpQuotesAnswer } from "@inference/protocol/wire/top-up";
import { type Hex, parseAbi, parseSignature } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { shareDevnet, type TestedDevnet } from "./testing/shared-devnet.ts";

/** Attacks on requests that pay for themselves, against the gateway, the keeper's relay and the contracts. */
let devnet: TestedDevnet;
before(async () => {
  devnet = await shareDevnet();
});

const dollarAbi = parseAbi([
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)",
]);
const THIEF = 4;

test("a payment that is copied, executed by another, or known by its nonce alone serves nobody but its signer", async () => {
  const victim = privateKeyToAccount((devnet.ready.wallets[0]?.privateKey ?? "0x") as Hex);
  const available = await balanceOf(devnet.ready.apiKey);
  const paid = await paymentOf(victim);
  const mine = await ask(paid.headers, "mine");
  equal(mine.status, 200, await mine.clone().text());
  const spent = await balanceOf(devnet.ready.apiKey);

  await refused(await ask(paid.headers, "a thief's"), 422, "idempotency_mismatch");
  await refused(await ask(paid.with(`0x${"22".repeat(64)}1b`), "a thief's"), 401, "invalid_signature");

  // A thief executes the next payment on the stablecoin as soon as he sees it, and shows its header.
  const next = await paymentOf(victim);
  const thief = privateKeyToAccount((devnet.ready.wallets[THIEF]?.privateKey ?? "0x") as Hex);
  const { authorization, signature } = next;
  const { v = 27n, r, s } = parseSignature(signature);
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const payer = await connectDeployer({ rpcUrl: devnet.ready.chains[0]?.rpcUrl ?? "", account: thief });
  await send(payer, {
    ...{ address: next.dollar, abi: dollarAbi, functionName: "transferWithAuthorization" },
    args: [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, Number(v), r, s],
  });
  await refused(await ask(next.headers, "a thief's"), 422, "idempotency_mismatch");
  await refused(await ask(next.headers, "a thief's"), 422, "idempotency_mismatch");
  const left = await balanceOf(devnet.ready.apiKey);
  equal(left >= spent && spent < available + 100_000_000, true, "only the signer's request was charged");
});

async function paymentOf(account: ReturnType<typeof privateKeyToAccount>) {
  const { data } = topUpQuotesAnswer.parse(await (await fetch(`${devnet.ready.gatewayUrl}/api/v1/top-up`)).json());
  const quote = data.chains[0];
  if (quote?.x402 == null) throw new Error("no x402");
  const authorization = {
    ...{ from: account.address, to: quote.x402.pay_to as Hex, value: quote.x402.least_token, validAfter: "0" },
    ...{ validBefore: String(Math.floor(Date.now() / 1_000) + 300), nonce: generatePrivateKey() },
  };
  const signature = await account.signTypedData(transferTypedData(quote, authorization));
  const dollar = quote.stablecoin.address as Hex;
  const accepted = { scheme: "exact", network: `eip155:${quote.chain_id}`, asset: dollar, payTo: quote.x402.pay_to };
  const withSignature = (given: Hex) => ({
    "content-type": "application/json",
    "payment-signature": Buffer.from(
      JSON.stringify({ x402Version: 2, accepted, payload: { authorization, signature: given } }),
    ).toString("base64"),
  });
  return { authorization, signature, dollar, headers: withSignature(signature), with: withSignature };
}

async function ask(headers: Record<string, string>, content: string): Promise<Response> {
  const { data } = (await (await fetch(`${devnet.ready.gatewayUrl}/v1/models`)).json()) as {
    data: { id: string; type: string }[];
  };
  const model = data.find(({ type }) => type === "text")?.id;
  const body = JSON.stringify({ model, max_tokens: 50, messages: [{ role: "user", content }] });
  return fetch(`${devnet.ready.gatewayUrl}/api/v1/chat/completions`, { method: "POST", headers, body });
}

async function refused(answer: Response, status: number, code: string): Promise<void> {
  const text = await answer.text();
  equal(answer.status, status, text);
  match(text, new RegExp(code));
  doesNotMatch(text, /available|balance_usd/);
  deepEqual(answer.headers.get("x-balance-usd"), null);
}

async function balanceOf(key: string): Promise<number> {
  const answer = await fetch(`${devnet.ready.gatewayUrl}/api/v1/credits`, {
    headers: { authorization: `Bearer ${key}` },
  });
  return ((await answer.json()) as { data: { available_nano_usd: number } }).data.available_nano_usd;
}
