/** A step from dollars in a wallet to a paid request: an explanation, and a part of a program. */
export type WalletStep = { id: string; title: string; about: string; code: string };

/**
 * The steps from dollars to inference, with viem. Their code in this order is one program, which tests run as it is
 * shown on every chain of a devnet. It reads `PRIVATE_KEY`, and `CHAIN_ID` and `RPC_URL` if they are set.
 */
export function walletSteps({ baseUrl, model }: { baseUrl: string; model: string }): WalletStep[] {
  return [
    {
      id: "connect",
      title: "Connect",
      about:
        "`GET /api/v1/contracts` has every chain with its addresses, and every ABI with the errors of the contracts " +
        "that a call reaches. Without `CHAIN_ID` this is the primary chain. Where the gateway names no node for a " +
        "chain, set `RPC_URL`. Each transaction is simulated first: one that would fail costs nothing, and viem names " +
        "the error.",
      code: `import {
  createPublicClient,
  createWalletClient,
  defineChain,
  http,
  parseUnits,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { createSiweMessage, generateSiweNonce } from "viem/siwe";

const gateway = "${baseUrl}";
const account = privateKeyToAccount(process.env.PRIVATE_KEY);

const { chains, abis } = (await call("/api/v1/contracts")).data;
const primary = chains.find(({ role }) => role === "primary");
const wanted = Number(process.env.CHAIN_ID ?? primary.chain_id);
const here = chains.find(({ chain_id }) => chain_id === wanted);
if (!here) throw new Error(\`The gateway knows no chain \${wanted}.\`);

const chain = defineChain({
  id: here.chain_id,
  name: here.name ?? \`chain \${here.chain_id}\`,
  nativeCurrency: { name: "Coin", symbol: "COIN", decimals: 18 },
  rpcUrls: { default: { http: [process.env.RPC_URL ?? here.rpc_url] } },
});
const reader = createPublicClient({ chain, transport: http() });
const writer = createWalletClient({ chain, transport: http(), account });
const contract = (name) => ({ address: here.contracts[name], abi: abis[name] });

async function send(transaction) {
  const { request } = await reader.simulateContract({ account, ...transaction });
  const hash = await writer.writeContract(request);
  const { status } = await reader.waitForTransactionReceipt({ hash });
  if (status !== "success") throw new Error(\`It failed: \${hash}\`);
}

async function call(path, { key, body } = {}) {
  const response = await fetch(gateway + path, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      "content-type": "application/json",
      ...(key && { authorization: \`Bearer \${key}\` }),
    },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.message);
  return answer;
}`,
    },
    {
      id: "approve",
      title: "Approve the dollars",
      about:
        "A token costs exactly one dollar, without a fee. Tokens have 6 decimals on every chain; the dollar of a chain " +
        "may have more, and `SCALE` is how many of its units one token unit costs.",
      code: `const amount = parseUnits("5", 6); // 5 tokens, for 5 dollars
const scale = await reader.readContract({
  ...contract("tokenMinter"),
  functionName: "SCALE",
});
await send({
  ...contract("stablecoin"),
  functionName: "approve",
  args: [here.contracts.tokenMinter, amount * scale],
});`,
    },
    {
      id: "mint",
      title: "Mint tokens",
      about: "The dollars leave the wallet, and the tokens arrive in it. They can be kept, sent, or bridged.",
      code: `await send({
  ...contract("tokenMinter"),
  functionName: "mint",
  args: [amount],
});`,
    },
    {
      id: "activate",
      title: "Activate them",
      about:
        "Activation burns tokens and adds their dollars to the account of the wallet, for good. On the primary chain it " +
        "is one call. From a secondary chain a LayerZero message carries it to the primary chain: `quote` says what the " +
        "message costs in the chain's coin, and the call sends that as its value. An activation above what the chain's " +
        "own dollars and its float cover waits until its dollars have arrived, which can take a day.",
      code: `if (here.role === "primary") {
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
}`,
    },
    {
      id: "key",
      title: "Sign for an API key",
      about:
        "The wallet signs a message, which costs no gas. Its one resource is the key's terms, all optional: `name`, " +
        "`limit` in dollars, `limit_reset` (`daily` or `monthly`; without it the limit is for the key's lifetime) and " +
        "`expires_at`. The key is shown this once. `GET /api/v1/keys/message` writes the message for given terms.",
      code: `const terms = "name=laptop&limit=3.00&limit_reset=daily";
const message = createSiweMessage({
  domain: new URL(gateway).host,
  address: account.address,
  uri: gateway,
  version: "1",
  chainId: here.chain_id,
  nonce: generateSiweNonce(),
  issuedAt: new Date(),
  resources: [\`\${gateway}/api/v1/keys?\${terms}\`],
});
const signature = await account.signMessage({ message });
const { key } = await call("/api/v1/keys", { body: { message, signature } });
console.log("API key:", key);`,
    },
    {
      id: "wait",
      title: "Wait for the credit",
      about:
        "An activation counts when its block on the primary chain is final; until then `pending` lists it. `pending` is " +
        "empty while a message from a secondary chain is on its way.",
      code: `let credits;
do {
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  credits = (await call("/api/v1/credits", { key })).data;
  for (const { amount, block } of credits.pending ?? []) {
    console.log(\`$\${amount} of block \${block} is not final yet\`);
  }
} while (credits.available_nano_usd === 0);
console.log(\`Balance: $\${credits.available}\`);`,
    },
    {
      id: "use",
      title: "Use it",
      about:
        "The key works with any OpenAI client, as above. The receipt has what the request cost, and the balance is less " +
        "by exactly that.",
      code: `const answer = await call("/api/v1/chat/completions", {
  key,
  body: {
    model: "${model}",
    max_tokens: 50,
    messages: [{ role: "user", content: "Hello" }],
  },
});
console.log(answer.choices[0].message.content);

const path = \`/api/v1/generation?id=\${answer.id}\`;
const receipt = (await call(path, { key })).data;
const { available } = (await call("/api/v1/credits", { key })).data;
console.log(\`It cost $\${receipt.total_cost}; $\${available} is left.\`);`,
    },
  ];
}

/** Replaces `mint` and `activate` in one transaction. On the primary chain only. */
export const mintAndActivate = `await send({
  ...contract("tokenMinter"),
  functionName: "mintAndActivate",
  args: [amount, account.address],
});`;
