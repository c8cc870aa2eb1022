// # connect: Connect
// `GET /api/v1/contracts` has every chain with its addresses, and every ABI
// with the errors of the contracts that a call reaches. `CHAIN_ID` chooses a
// chain; the default is the primary chain. Set `RPC_URL` for a chain without a
// node of the gateway's. Each transaction is simulated first: a transaction
// that would fail costs nothing, and viem names the error.

import {
  createPublicClient,
  createWalletClient,
  defineChain,
  http,
  parseUnits,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { createSiweMessage, generateSiweNonce } from "viem/siwe";

const gateway = "https://gateway.example";
const account = privateKeyToAccount(process.env.PRIVATE_KEY);

const { chains, abis } = (await call("/api/v1/contracts")).data;
const primary = chains.find(({ role }) => role === "primary");
const wanted = Number(process.env.CHAIN_ID ?? primary.chain_id);
const here = chains.find(({ chain_id }) => chain_id === wanted);
if (!here) throw new Error(`The gateway knows no chain ${wanted}.`);

const chain = defineChain({
  id: here.chain_id,
  name: here.name ?? `chain ${here.chain_id}`,
  nativeCurrency: { name: "Coin", symbol: "COIN", decimals: 18 },
  rpcUrls: { default: { http: [process.env.RPC_URL ?? here.rpc_url] } },
});
const reader = createPublicClient({ chain, transport: http() });
const writer = createWalletClient({ chain, transport: http(), account });
const contract = (name) => ({ address: here.contracts[name], abi: abis[name] });

async function send(transaction) {
  const { request } = await reader.simulateContract({
    account,
    ...transaction,
  });
  const hash = await writer.writeContract(request);
  const { status } = await reader.waitForTransactionReceipt({ hash });
  if (status !== "success") throw new Error(`It failed: ${hash}`);
}

// @ts-expect-error: the checker infers {} from the default
async function call(path, { key, body } = {}) {
  const response = await fetch(gateway + path, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      "content-type": "application/json",
      ...(key && { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.message);
  return answer;
}

// # approve: Approve the dollars
// A token costs exactly one dollar, without a fee. Tokens have 6 decimals on
// every chain. The dollar of a chain may have more: `SCALE` is the number of
// its units for one token unit.

const amount = parseUnits("5", 6); // 5 tokens, for 5 dollars
const scale = await reader.readContract({
  ...contract("tokenMinter"),
  functionName: "SCALE",
});
await send({
  ...contract("stablecoin"),
  functionName: "approve",
  // @ts-expect-error: the ABI is known at run time only
  args: [here.contracts.tokenMinter, amount * scale],
});

// # mint: Mint tokens
// The dollars leave the wallet, and the tokens arrive in it. They can be kept,
// sent, or bridged.

await send({
  ...contract("tokenMinter"),
  functionName: "mint",
  args: [amount],
});

// # activate: Activate them
// Activation burns tokens and adds their dollars to the account of the wallet,
// for good. It is one call on the primary chain. From a secondary chain a
// LayerZero message carries it to the primary chain: `quote` returns the
// message's cost in the chain's coin, and the call sends that as its value. An
// activation above the chain's cover waits until its dollars have arrived,
// which can take a day.

if (here.role === "primary") {
  await send({
    ...contract("inferenceSettlement"),
    functionName: "activate",
    args: [amount],
  });
} else {
  const fee = await reader.readContract({
    ...contract("tokenBridge"),
    functionName: "quote",
    args: [primary.layerzero_eid],
  });
  await send({
    ...contract("tokenBridge"),
    functionName: "activateOnBase",
    args: [amount],
    value: fee,
  });
}

// # key: Sign for an API key
// The wallet signs a message, which costs no gas. The message's one resource
// has the terms of the key, all optional: `name`, `limit` in dollars,
// `limit_reset` (`daily` or `monthly`; without it the limit is for the key's
// lifetime) and `expires_at`. The answer shows the key once. `GET
// /api/v1/keys/message` writes the message for given terms.

const terms = "name=laptop&limit=3.00&limit_reset=daily";
const message = createSiweMessage({
  domain: new URL(gateway).host,
  address: account.address,
  uri: gateway,
  version: "1",
  chainId: here.chain_id,
  nonce: generateSiweNonce(),
  issuedAt: new Date(),
  resources: [`${gateway}/api/v1/keys?${terms}`],
});
const signature = await account.signMessage({ message });
const { key } = await call("/api/v1/keys", { body: { message, signature } });
console.log("API key:", key);

// # wait: Wait for the credit
// An activation counts when its block on the primary chain is final; until then
// `pending` lists it. `pending` is empty while a message from a secondary chain
// is on its way.

let credits;
do {
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  credits = (await call("/api/v1/credits", { key })).data;
  for (const { amount, block } of credits.pending ?? []) {
    console.log(`$${amount} of block ${block} is not final yet`);
  }
} while (credits.available_nano_usd === 0);
console.log(`Balance: $${credits.available}`);

// # use: Use it
// The key works with any OpenAI client, as above. The receipt has the cost of
// the request, and the balance is less by exactly this cost.

const answer = await call("/api/v1/chat/completions", {
  key,
  body: {
    model: "MODEL",
    max_tokens: 50,
    messages: [{ role: "user", content: "Hello" }],
  },
});
console.log(answer.choices[0].message.content);

const path = `/api/v1/generation?id=${answer.id}`;
const receipt = (await call(path, { key })).data;
const { available } = (await call("/api/v1/credits", { key })).data;
console.log(`It cost $${receipt.total_cost}; $${available} is left.`);
