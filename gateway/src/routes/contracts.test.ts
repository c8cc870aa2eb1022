import assert from "node:assert/strict";
import { test } from "node:test";
import { contractsAnswer } from "@inference/protocol/wire/answers";
import { type Abi, decodeErrorResult, encodeErrorResult, parseAbi } from "viem";
import { openFixture } from "../../test/identity-fixture.ts";
import { makeApp } from "../app.ts";
import type { KnownChain } from "../chain-directory.ts";

/** GET /api/v1/contracts: what a wallet needs to mint and activate. */
const minter = `0x${"6".repeat(40)}` as const;
const dollar = `0x${"d".repeat(40)}` as const;
const chains: KnownChain[] = [
  {
    ...{ chainId: 1, role: "primary", name: "main", eid: 30_101, rpcUrl: "https://node.example" },
    stablecoin: { decimals: 6, symbol: "USDC" },
    startBlock: 7,
    contracts: { stablecoin: dollar, tokenMinter: minter },
  },
  {
    ...{ chainId: 10, role: "secondary", name: null, eid: null, rpcUrl: null, stablecoin: null, startBlock: 0 },
    contracts: { tokenMinter: minter },
  },
];

async function read(settings: Parameters<typeof openFixture>[0]) {
  const { status, text } = await openFixture(settings).call("GET", "/api/v1/contracts");
  assert.equal(status, 200);
  return contractsAnswer.parse(JSON.parse(text)).data;
}

test("each chain is told as the settings have it, the primary chain first", async () => {
  assert.deepEqual((await read({ chains })).chains, [
    {
      ...{ chain_id: 1, role: "primary", name: "main", layerzero_eid: 30_101, rpc_url: "https://node.example" },
      stablecoin: { address: dollar, decimals: 6, symbol: "USDC" },
      start_block: 7,
      contracts: { stablecoin: dollar, tokenMinter: minter },
    },
    {
      ...{ chain_id: 10, role: "secondary", name: null, layerzero_eid: null, rpc_url: null, stablecoin: null },
      start_block: 0,
      contracts: { tokenMinter: minter },
    },
  ]);
});

test("there is an ABI for what a wallet calls, and it decodes what the call passes on", async () => {
  const { abis } = await read({});
  const balance = encodeErrorResult({
    abi: parseAbi(["error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)"]),
    args: [minter, 1n, 2n],
  });
  for (const name of ["tokenMinter", "tokenBridge", "inferenceSettlement", "stablecoin", "backerVault"]) {
    const abi = abis[name] as unknown as Abi;
    assert.ok(
      abi.some(({ type }) => type === "function"),
      name,
    );
    assert.deepEqual(decodeErrorResult({ abi, data: balance }).args, [minter, 1n, 2n], name);
  }
  const functions = (abis.stablecoin as unknown as Abi).flatMap((entry) =>
    entry.type === "function" ? entry.name : [],
  );
  assert.ok(functions.includes("approve"));
});

test("a client that has it is told so, however the tag is written, until another chain is told of", async () => {
  const fixture = openFixture({ chains });
  const first = await fixture.call("GET", "/api/v1/contracts");
  const etag = first.headers.get("etag") ?? "";
  assert.match(etag, /^"[\w-]{43}"$/);
  assert.match(first.headers.get("cache-control") ?? "", /^public, max-age=\d+$/);
  const app = makeApp(fixture.gateway);
  const ask = async (tags: string, method = "GET") => {
    const headers = { "if-none-match": tags };
    const response = await app.fetch(new Request("https://gateway.example/api/v1/contracts", { method, headers }));
    return [response.status, (await response.text()).length > 0, response.headers.get("etag")];
  };
  for (const tags of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
    assert.deepEqual(await ask(tags), [304, false, etag], tags);
  }
  assert.deepEqual(await ask('"other"'), [200, true, etag]);
  const other = await openFixture({ chains: chains.slice(0, 1) }).call("GET", "/api/v1/contracts");
  assert.notEqual(other.headers.get("etag"), etag);
});

test("while the chain contradicts the gateway, nobody is told where to send money, and no client retries", async () => {
  const fixture = openFixture({ chains });
  fixture.chain.following = () => ({ state: "halted", block: 1, lagBlocks: 0 });
  const { status, body, headers } = await fixture.call("GET", "/api/v1/contracts");
  assert.deepEqual([status, body.error?.code], [503, "chain_unavailable"]);
  assert.deepEqual([headers.get("x-should-retry"), headers.get("cache-control")], ["false", "no-store"]);
  const told = (await fixture.call("GET", "/api/v1/status")).body;
  assert.deepEqual(told.data?.contracts, {});
});
