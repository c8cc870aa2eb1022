import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Anvil, startAnvil } from "@inference/chain/testing/anvil";
import { ownedWalletCode } from "@inference/chain/testing/owned-wallet";
import { deploySettlement } from "@inference/chain/testing/settlement";
import type { Address } from "@inference/protocol/credential";
import { eventually } from "@inference/protocol/testing/eventually";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { createSiweMessage, generateSiweNonce } from "viem/siwe";
import { type Edge, startEdge } from "./testing/edge.ts";

/** A pool that gives everybody five dollars a day. */
const pool: Address = "0x0000000000000000000000000000000000c0de01";
const FIVE_DOLLARS = `7f${(5_000_000_000).toString(16).padStart(64, "0")}5f5260205ff3`;

let chain: Anvil;
let settlement: Address;
const edges: Edge[] = [];
let right: Edge | undefined;
before(async () => {
  chain = await startAnvil();
  await chain.rpc("anvil_setCode", [pool, `0x${FIVE_DOLLARS}`]);
  settlement = await deploySettlement(chain.rpcUrl, { pool });
  right = await startBeside({});
});
after(async () => {
  for (const edge of edges) await edge.stop();
  await chain?.stop();
});

async function startBeside(settings: Record<string, string>): Promise<Edge> {
  const chainSettings = { PRIMARY_RPC_URL: chain.rpcUrl, SETTLEMENT_ADDRESS: settlement, CHAIN_POLL_MS: "100" };
  const edge = await startEdge({ ...chainSettings, ...settings });
  edges.push(edge);
  return edge;
}

type Signer = Pick<PrivateKeyAccount, "address" | "signMessage">;

function makeWallet(): PrivateKeyAccount {
  return privateKeyToAccount(generatePrivateKey());
}

async function signIn({ url }: Edge, wallet: Signer = makeWallet(), agentToken?: Address): Promise<string> {
  const message = createSiweMessage({
    domain: new URL(url).host,
    address: wallet.address,
    uri: `${url}/auth`,
    version: "1",
    chainId: 31_337,
    nonce: generateSiweNonce(),
    issuedAt: new Date(),
  });
  const body = JSON.stringify({ message, signature: await wallet.signMessage({ message }), agentToken });
  const response = await fetch(`${url}/auth`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  assert.equal(response.status, 200, await response.clone().text());
  return ((await response.json()) as { token: string }).token;
}

async function ask(edge: Edge, session: string): Promise<{ status: number; code?: string; id: string | null }> {
  const response = await edge.chat(session, { messages: [{ role: "user", content: "Hello" }], max_tokens: 5 });
  const { error } = (await response.json()) as { error?: { code: string } };
  const id = response.headers.get("x-request-id");
  return { status: response.status, id, ...(error === undefined ? {} : { code: error.code }) };
}

test("a session spends what the settlement's own pool gives it, without a setting that names the pool", async () => {
  const edge = right ?? assert.fail();
  await chain.rpc("anvil_mine", ["0x1"]);
  const response = await fetch(`${edge.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${await signIn(edge)}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sim-small", messages: [{ role: "user", content: "Hello" }], max_tokens: 5 }),
  });
  assert.equal(response.status, 200, await response.clone().text());
  const { usage } = (await response.json()) as { usage: { cost_nano_usd: number } };
  assert.ok(usage.cost_nano_usd > 0);
});

test("a contract's owner signs in for it, as an identity separate from a wallet with that address", async () => {
  const edge = right ?? assert.fail();
  const owner = makeWallet();
  const contracts = [makeWallet().address, makeWallet().address] as const;
  for (const address of contracts) {
    await chain.rpc("anvil_setCode", [address, `0x${ownedWalletCode(owner.address)}`]);
  }
  const [agent, wallet] = contracts;
  const itself: Signer = { address: wallet, signMessage: (signed) => owner.signMessage(signed) };
  assert.equal((await ask(edge, await signIn(edge, owner, agent))).status, 200);

  const personal = await signIn(edge, itself);
  const served = await ask(edge, personal);
  assert.equal(served.status, 200);
  const asAgent = await signIn(edge, owner, wallet);
  const { status, code } = await ask(edge, asAgent);
  assert.deepEqual([status, code], [402, "capacity_exhausted"]);
  const found = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${edge.url}/api/v1/generation?id=${served.id}`, { headers })).status;
  };
  assert.deepEqual([await found(personal), await found(asAgent)], [200, 404]);
});

for (const [setting, value, said] of [
  ["POOL_ADDRESS", `0x${"66".repeat(20)}`, /POOL_ADDRESS is 0x66\w+, and the settlement contract's POOL is 0x0+c0de01/],
  ["PRIMARY_ANCHOR", `0:0x${"66".repeat(32)}`, /block 0 is 0x\w+, not 0x66\w+ as PRIMARY_ANCHOR says/],
] as const) {
  test(`a wrong ${setting} stops the watcher of the chain, and the operator is told`, async () => {
    const edge = await startBeside({ [setting]: value });
    await eventually(async () => {
      const health = (await (await fetch(`${edge.url}/healthz`)).json()) as { chain: string };
      assert.equal(health.chain, "halted");
    });
    assert.match(edge.output(), said);
    const status = (await (await fetch(`${edge.url}/api/v1/status`)).json()) as { data: { contracts: object } };
    assert.deepEqual(status.data.contracts, {}, "nobody is told where to pay");
  });
}
