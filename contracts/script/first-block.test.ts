import { equal, match, ok, rejects } from "node:assert/strict";
import { after, before, test } from "node:test";
import { deployLocalToken } from "@inference/devnet/third-parties/local-token";
import {
  type Address,
  createPublicClient,
  createTestClient,
  custom,
  hexToBigInt,
  http,
  ResourceNotFoundRpcError,
} from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { type Anvil, startAnvil } from "./anvil.ts";
import { DeploymentError } from "./deployer.ts";
import { firstBlockOf } from "./first-block.ts";

const issuer = mnemonicToAccount("test test test test test test test test test test test junk");
const BORN = 40n;
const HEAD = 1_040n;
let anvil: Anvil;
let token: Address;

before(async () => {
  anvil = await startAnvil(31337);
  const { rpcUrl } = anvil;
  const chain = createTestClient({ mode: "anvil", transport: http(rpcUrl) });
  await chain.mine({ blocks: Number(BORN - 1n) });
  token = await deployLocalToken({ rpcUrl, issuer, name: "Dollar", symbol: "USDL" });
  await chain.mine({ blocks: Number(HEAD - BORN) });
});
after(() => anvil[Symbol.asyncDispose]());

test("a contract's first block is found at any distance from the head", async () => {
  for (const head of [BORN, BORN + 1n, BORN + 2n, BORN + 7n, 2n * BORN, HEAD]) {
    equal(await firstBlockOf(nodeAt(head).reader, token), BORN, `from ${head}`);
  }
});

test("the first block of a contract that exists since block 0 is block 0", async () => {
  const create2Deployer = "0x4e59b44847b379578588920cA78FbF26c0B4956C";
  equal(await firstBlockOf(nodeAt(HEAD).reader, create2Deployer), 0n);
});

test("a node that keeps only recent states suffices for a recent deployment, and few requests for an old one", async () => {
  const recent = nodeAt(BORN + 20n, BORN - 12n);
  equal(await firstBlockOf(recent.reader, token), BORN);
  const far = nodeAt(HEAD);
  await firstBlockOf(far.reader, token);
  ok(far.asked() <= 20, `${far.asked()} questions`);
});

test("a node that lacks an old state is an error, and not a chain without the contract", async () => {
  await rejects(firstBlockOf(nodeAt(HEAD, HEAD - 128n).reader, token), (error: Error) => {
    ok(error instanceof DeploymentError, error.message);
    match(error.message, / stood in block \d+ \(.*missing trie node.*\): use one that keeps old states/);
    return true;
  });
});

/** The chain as a node reports it with `head` as last block, without states older than `oldest`. */
function nodeAt(head: bigint, oldest = 0n) {
  const chain = createPublicClient({ transport: http(anvil.rpcUrl) });
  let asked = 0;
  const request = async ({ method, params }: { method: string; params?: unknown }) => {
    if (method === "eth_blockNumber") return `0x${head.toString(16)}`;
    const [, block] = params as [Address, `0x${string}`];
    asked += 1;
    if (hexToBigInt(block) < oldest) throw new ResourceNotFoundRpcError(new Error("missing trie node"));
    return await chain.request({ method, params } as never);
  };
  return { reader: createPublicClient({ transport: custom({ request }, { retryCount: 0 }) }), asked: () => asked };
}
