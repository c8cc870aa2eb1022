import { deepEqual, equal, rejects } from "node:assert/strict";
import { before, test } from "node:test";
import { shareDevnet, type TestedDevnet } from "@inference/devnet/testing/shared-devnet";
import { createTestClient, encodeAbiParameters, http, keccak256, toHex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import {
  claimRewards,
  createAgent,
  createClient,
  payExit,
  readAgent,
  readBacking,
  readBackings,
  readExits,
  readHoldings,
  requestedExit,
  stake,
  unback,
} from "./index.ts";

/** A backer's way in and out, on the devnet's primary chain. */
const UNIT = 10n ** 18n;
const DAY_S = 86_400n;
let devnet: TestedDevnet;

before(async () => {
  devnet = await shareDevnet();
});

test("what a backer stakes comes out: rewards at once, the stake after its cooldown, and nothing twice", async () => {
  const { ready } = devnet;
  const account = privateKeyToAccount(ready.wallets[1]?.privateKey ?? "0x");
  const client = createClient({ gateway: ready.gatewayUrl, account, pollMs: 50 });
  const { connection } = client;
  const { address } = account;
  const { agent } = await createAgent(connection, { name: "Backed", symbol: "BCK", supply: UNIT });
  const agentToken = agent.token;
  const stakes = async () => {
    const [primary] = await readHoldings(connection, address);
    return primary !== undefined && "staking" in primary ? primary.staking?.amount : undefined;
  };
  const told: string[] = [];
  const onProgress = ({ step, stage }: { step: string; stage: string }) => void told.push(`${step} ${stage}`);
  const poor = createClient({ gateway: ready.gatewayUrl, account: privateKeyToAccount(generatePrivateKey()) });
  await rejects(stake(poor.connection, { agentToken, amount: 3n * UNIT, as: "back", onProgress }), {
    errorName: "ERC20InsufficientBalance",
    message: "You have 0 UNIT on primary, and this needs 3 UNIT. Nothing was sent.",
  });
  await rejects(stake(connection, { agentToken: address, amount: UNIT, as: "back", onProgress }), {
    errorName: "UnknownAgent",
  });
  // Not even an approval.
  deepEqual(told, []);
  const had = (await stakes()) ?? 0n;
  await stake(connection, { agentToken, amount: 3n * UNIT, as: "back" });
  deepEqual(await readBackings(connection, address), [{ agentToken, amount: 3n * UNIT, claimableToken: 0n }]);
  await rejects(claimRewards(connection, { agentToken }), { code: "nothing_to_claim" });

  // Rewards of the day before yesterday, which the converter would have minted.
  const { vault, pool, test } = await contractsOf(ready);
  const amountToken = 3_000_000n;
  await client.mint({ amountToken, to: vault });
  const day = BigInt(Math.floor(Date.now() / 1_000)) / DAY_S - 2n;
  const drip = amountToken | (day << 192n) | ((day * DAY_S) << 216n);
  await test.setStorageAt({ address: vault, index: slotOf("address", agentToken, 0n), value: word(drip) });
  equal((await readBacking(connection, { agentToken, address })).claimableToken, amountToken);
  const before = await tokens(connection, address);
  await claimRewards(connection, { agentToken });
  equal(await tokens(connection, address), before + amountToken);
  await rejects(claimRewards(connection, { agentToken }), { code: "nothing_to_claim" });

  await rejects(unback(connection, { agentToken, amount: 4n * UNIT }), { errorName: "InsufficientBacking" });
  const { hash } = await unback(connection, { agentToken, amount: 2n * UNIT });
  const asked = await requestedExit(connection, hash);
  const { exitId } = asked;
  deepEqual(await readExits(connection, address), [asked]);
  deepEqual([asked.amount, asked.isReady, asked.agentToken], [2n * UNIT, false, agentToken]);
  equal((await readAgent(connection, agentToken)).backing, UNIT);
  await rejects(payExit(connection, { exitId }), { errorName: "ExitNotReady" });
  // A day later: `readyAt` is beside the receiver.
  const exitSlot = slotOf("uint256", exitId, 1n);
  await test.setStorageAt({ address: pool, index: exitSlot, value: word(BigInt(address) | (1n << 160n)) });
  equal((await readExits(connection, address))[0]?.isReady, true);
  await payExit(connection, { exitId });
  equal(await stakes(), had - UNIT);
  deepEqual(await readExits(connection, address), []);
  await rejects(payExit(connection, { exitId }), { errorName: "UnknownExit" });
});

async function contractsOf({ contracts, chains }: TestedDevnet["ready"]) {
  const { backerVault, inferencePool } = contracts.primary as Record<string, `0x${string}`>;
  const test = createTestClient({ mode: "anvil", transport: http(chains[0]?.rpcUrl) });
  return { vault: backerVault ?? "0x", pool: inferencePool ?? "0x", test };
}

/** The slot of a mapping's value. */
function slotOf(type: "address" | "uint256", key: `0x${string}` | bigint, mapping: bigint): `0x${string}` {
  return keccak256(encodeAbiParameters([{ type }, { type: "uint256" }], [key as never, mapping]));
}

function word(value: bigint): `0x${string}` {
  return toHex(value, { size: 32 });
}

async function tokens(connection: Parameters<typeof readHoldings>[0], address: `0x${string}`): Promise<bigint> {
  const [primary] = await readHoldings(connection, address);
  return primary !== undefined && "amountToken" in primary ? primary.amountToken : 0n;
}
