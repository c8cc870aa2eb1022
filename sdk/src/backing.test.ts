import { deepEqual, equal, rejects } from "node:assert/strict";
import { before, test } from "node:test";
import { shareDevnet, type TestedDevnet } from "@inference/devnet/testing/shared-devnet";
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
import { mintRewards, ripen } from "./testing/rewards.ts";

/** A backer's way in and out, on the devnet's primary chain. */
const UNIT = 10n ** 18n;
let devnet: TestedDevnet;

before(async () => {
  devnet = await shareDevnet(2);
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

  const amountToken = 3_000_000n;
  await mintRewards(client, { ready, agentToken, amountToken });
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
  await ripen(ready, { exitId, address });
  equal((await readExits(connection, address))[0]?.isReady, true);
  await payExit(connection, { exitId });
  equal(await stakes(), had - UNIT);
  deepEqual(await readExits(connection, address), []);
  await rejects(payExit(connection, { exitId }), { errorName: "UnknownExit" });
});

async function tokens(connection: Parameters<typeof readHoldings>[0], address: `0x${string}`): Promise<bigint> {
  const [primary] = await readHoldings(connection, address);
  return primary !== undefined && "amountToken" in primary ? primary.amountToken : 0n;
}
