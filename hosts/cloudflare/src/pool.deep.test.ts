import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Anvil, startAnvil } from "@inference/chain/testing/anvil";
import { deploySettlement } from "@inference/chain/testing/settlement";
import type { Address } from "@inference/protocol/credential";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { createSiweMessage, generateSiweNonce } from "viem/siwe";
import { type Edge, startEdge } from "./testing/edge.ts";

/** A pool that gives everybody five dollars a day. */
const pool: Address = "0x0000000000000000000000000000000000c0de01";
const FIVE_DOLLARS = `7f${(5_000_000_000).toString(16).padStart(64, "0")}5f5260205ff3`;

let chain: Anvil;
let edge: Edge;
before(async () => {
  chain = await startAnvil();
  await chain.rpc("anvil_setCode", [pool, `0x${FIVE_DOLLARS}`]);
  edge = await startEdge({
    PRIMARY_RPC_URL: chain.rpcUrl,
    SETTLEMENT_ADDRESS: await deploySettlement(chain.rpcUrl, { pool }),
    CHAIN_POLL_MS: "100",
  });
});
after(async () => {
  await edge?.stop();
  await chain?.stop();
});

async function signIn({ url }: Edge): Promise<string> {
  const wallet = privateKeyToAccount(generatePrivateKey());
  const message = createSiweMessage({
    domain: new URL(url).host,
    address: wallet.address,
    uri: `${url}/auth`,
    version: "1",
    chainId: 31_337,
    nonce: generateSiweNonce(),
    issuedAt: new Date(),
  });
  const response = await fetch(`${url}/auth`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ message, signature: await wallet.signMessage({ message }) }),
  });
  assert.equal(response.status, 200, await response.clone().text());
  return ((await response.json()) as { token: string }).token;
}

test("a session spends what the settlement's own pool gives it, without a setting that names the pool", async () => {
  await chain.rpc("anvil_mine", ["0x1"]);
  const response = await edge.chat(await signIn(edge), { messages: [{ role: "user", content: "Hello" }] });
  assert.equal(response.status, 200, await response.clone().text());
  const { usage } = (await response.json()) as { usage: { cost_nano_usd: number } };
  assert.ok(usage.cost_nano_usd > 0);
});
