import { deepEqual, equal, ok } from "node:assert/strict";
import { after, before, test } from "node:test";
import type { LocalChainName } from "@inference/contracts/local-chains";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { eventually } from "@inference/protocol/testing/eventually";
import type { Address } from "viem";
import { type Devnet, startDevnet } from "./devnet.ts";
import { readCredits } from "./testing/api.ts";
import { anyPorts, deployedFolder } from "./testing/launch.ts";
import { walletOn } from "./testing/wallet.ts";

const folder = deployedFolder();
const DOLLAR = 1_000_000n;
/** What the first deployment lets activations run ahead of a chain's dollars. */
const FLOAT = 100n * DOLLAR;
const secondaries = ["secondary1", "secondary2"] as const;
let devnet: Devnet;

before(async () => {
  devnet = await startDevnet({ environment: { ...process.env, ...anyPorts, DEVNET_DIR: folder.path } });
});
after(async () => {
  await devnet.stop();
  folder.remove();
});

test("I11: a contract has one address on every chain that has it", () => {
  const foreign =
    /^(stablecoin|stakingToken|dollarPool|protocolSafe|uniswapFactory|positionManager|swapRouter|layerZeroEndpoint)$/;
  const places = new Map<string, Set<Address>>();
  for (const contracts of Object.values(devnet.ready.contracts)) {
    for (const [name, address] of Object.entries(contracts)) {
      if (!foreign.test(name)) places.set(name, (places.get(name) ?? new Set()).add(address));
    }
  }
  ok(places.size > 10);
  for (const [name, addresses] of places) equal(addresses.size, 1, name);
});

for (const [index, name] of secondaries.entries()) {
  test(`a wallet on ${name} mints at par with its dollar, and its dollars come to be booked on the primary`, async () => {
    const there = chain(name, index + 1);
    const eid = there.chainId;
    const lineBefore = await lineOf(eid);
    await there.mint(20n * DOLLAR);
    equal(await there.tokens(), 20n * DOLLAR);
    // Flushed by the keeper, carried by the relayer, booked by the keeper.
    await eventually(async () => (await lineOf(eid)) === lineBefore + 20n * DOLLAR, 30_000);
    equal(await there.pending(), 0n);
    await booksAgree();
  });

  test(`tokens go from ${name} to the primary and back, and are never twice`, async () => {
    const there = chain(name, index + 1);
    const here = chain("primary", index + 1);
    const before = { here: await here.tokens(), there: await there.tokens() };
    await there.bridge(chain("primary", 0).chainId, 8n * DOLLAR);
    equal(await there.tokens(), before.there - 8n * DOLLAR, "burned at once");
    await eventually(async () => (await here.tokens()) === before.here + 8n * DOLLAR);
    await booksAgree();
    await here.bridge(there.chainId, 3n * DOLLAR);
    equal(await here.tokens(), before.here + 5n * DOLLAR);
    await eventually(async () => (await there.tokens()) === before.there - 5n * DOLLAR);
    await booksAgree();
  });

  test(`activateOnBase on ${name} raises the one balance on the primary, and the gateway sees it`, async () => {
    const { gatewayUrl, apiKey } = devnet.ready;
    // The wallet of the API key.
    const there = chain(name, 0);
    const before = { chain: await creditOf(there.account), gateway: await readCredits(gatewayUrl, apiKey) };
    await there.mint(4n * DOLLAR);
    await there.activateOnBase(4n * DOLLAR);
    equal(await there.tokens(), 0n);
    await eventually(async () => (await creditOf(there.account)) === before.chain + 4_000_000_000n);
    await eventually(async () => {
      const { total_credits_nano_usd: total } = await readCredits(gatewayUrl, apiKey);
      return total === before.gateway.total_credits_nano_usd + 4_000_000_000;
    });
    await booksAgree();
  });
}

test("an activation above float and line waits for its dollars, which leave when it is time on an idle chain", async () => {
  const there = chain("secondary2", 3);
  const line = await lineOf(there.chainId);
  const amount = line + 1_000n * DOLLAR;
  ok(line < 2n * FLOAT);
  await there.mint(amount);
  await there.activateOnBase(amount);
  await eventually(async () => (await there.tokens()) === 0n);
  // The last batch left less than an hour ago.
  await eventually(async () => (await waitingCount()) === 1);
  equal(await creditOf(there.account), 0n);
  await there.passTime(3_601);
  await eventually(async () => (await creditOf(there.account)) === amount * 1_000n, 30_000);
  await booksAgree();
});

/** A chain as the wallet `index` uses it. */
function chain(name: LocalChainName, index: number) {
  return walletOn(devnet.ready, name, index);
}

function primaryContract(name: string): Address {
  return devnet.ready.contracts.primary?.[name] ?? "0x";
}

async function lineOf(eid: number): Promise<bigint> {
  const [balance] = await chain("primary", 0).reader.readContract({
    address: primaryContract("tokenMinter"),
    abi: tokenMinterAbi,
    functionName: "lineOf",
    args: [eid],
  });
  return balance;
}

function creditOf(account: Address): Promise<bigint> {
  return chain("primary", 0).reader.readContract({
    address: primaryContract("inferenceSettlement"),
    abi: inferenceSettlementAbi,
    functionName: "creditNanoUsd",
    args: [account],
  });
}

async function waitingCount(): Promise<number> {
  const events = await chain("primary", 0).reader.getContractEvents({
    address: primaryContract("tokenBridge"),
    abi: tokenBridgeAbi,
    eventName: "Waiting",
    fromBlock: 0n,
  });
  return events.length;
}

/** I1a: on the primary chain, at any moment, to the nano-dollar. */
async function booksAgree(): Promise<void> {
  const books = await chain("primary", 0).reader.readContract({
    address: primaryContract("inferenceSettlement"),
    abi: inferenceSettlementAbi,
    functionName: "books",
  });
  deepEqual(books.backing, books.supply + books.credit + books.owed + books.lines);
}
