import { setTimeout as sleep } from "node:timers/promises";
import { account } from "@inference/devnet/testing/local-chain";
import { deployPrimary } from "@inference/devnet/third-parties/deploy-primary";
import { deployUsdc, fundUsdc } from "@inference/devnet/third-parties/usdc";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { encodeChunk } from "@inference/protocol/chunk";
import type { Address } from "@inference/protocol/credential";
import { encodeFunctionData, type Hex, toHex } from "viem";
import { type Anvil, FINALITY_DEPTH, startAnvil } from "./anvil.ts";

/** A primary chain with the real contracts, and one rich account that activates for others. */
export type PrimaryChain = Anvil & {
  settlement: Address;
  token: Address;
  minter: Address;
  stablecoin: Address;
  timelock: Address;
  door: Address;
  startBlock: number;
  /** In token units. In a block when it resolves, unless mining is paused. */
  activate(account: Address, amountToken: bigint): Promise<void>;
  /** Two activations in one transaction. */
  activateTwice(account: Address, amountToken: bigint): Promise<void>;
  /** By the settler's account: a chunk of the last block's day. */
  settle(records: readonly TestRecord[]): Promise<void>;
  raiseCeiling(toNanoUsd: bigint): Promise<void>;
  lowerCeiling(toNanoUsd: bigint): Promise<void>;
  /** Until `reset`, transactions wait for `mine`. */
  pauseMining(): Promise<void>;
  mine(blocks?: number): Promise<void>;
  /** Mines until all there is now is final. */
  finalize(): Promise<void>;
  latest(): Promise<number>;
  /** The last `depth` blocks are replaced by as many empty ones. */
  reorg(depth: number): Promise<void>;
  /** Restores the state after the deployment, at the machine's time. */
  reset(): Promise<void>;
};

/** A record without parts. An absent root is that of unknown uses. */
export type TestRecord = { account: Address; before: number; amount: number; root?: Hex };

const deployer = account(0);
const proxyAdmin = account(1).address;
const proposer = account(2).address;
const guardian = account(3).address;
const settler = account(4).address;
/** A contract that passes its call data to the settlement twice. */
const TWICE: Address = "0x00000000000000000000000000000000000002ce";
/** The root of unknown uses. */
const ROOT: Hex = `0x${"b0".repeat(32)}`;
const FUNDS = 40_000_000_000_000n;

export async function startPrimaryChain(): Promise<PrimaryChain> {
  const anvil = await startAnvil();
  try {
    return await deploy(anvil);
  } catch (error) {
    await anvil.stop();
    throw error;
  }
}

async function deploy(anvil: Anvil): Promise<PrimaryChain> {
  const { rpcUrl, rpc } = anvil;
  const usdc = await deployUsdc({ rpcUrl, deployer, proxyAdmin });
  await fundUsdc({ rpcUrl, usdc, masterMinter: deployer, to: deployer.address, amount: FUNDS });
  const deployment = await deployPrimary({
    rpcUrl,
    deployer,
    proposer,
    guardian,
    settler,
    stablecoin: usdc,
  });
  const { inferenceSettlement, inferenceToken, timelockController, tokenMinter, x402Door } = deployment.addresses;

  let paused = false;
  async function send(from: Address, to: Address, data: Hex): Promise<void> {
    const transaction = { from, to, data, gas: "0x100000", gasPrice: "0x77359400" };
    const hash = await rpc("eth_sendTransaction", [transaction]);
    // The answer comes before the block does.
    while (!paused && (await rpc("eth_getTransactionReceipt", [hash])) === null) await sleep(1);
  }
  const activateFor = (account: Address, amount: bigint) =>
    encodeFunctionData({ abi: inferenceSettlementAbi, functionName: "activateFor", args: [amount, account] });
  const mine = (blocks = 1) => rpc<void>("anvil_mine", [`0x${blocks.toString(16)}`]);

  await send(
    deployer.address,
    usdc,
    encodeFunctionData({ abi: stablecoinAbi, functionName: "approve", args: [tokenMinter, FUNDS] }),
  );
  await send(
    deployer.address,
    tokenMinter,
    encodeFunctionData({ abi: tokenMinterAbi, functionName: "mint", args: [FUNDS] }),
  );
  await rpc("anvil_setCode", [TWICE, twiceCode(inferenceSettlement)]);
  const gift = encodeFunctionData({ abi: inferenceTokenAbi, functionName: "transfer", args: [TWICE, FUNDS / 2n] });
  await send(deployer.address, inferenceToken, gift);
  await rpc("anvil_impersonateAccount", [timelockController]);
  await rpc("anvil_setBalance", [timelockController, "0xde0b6b3a7640000"]);
  let snapshot = await rpc("evm_snapshot");

  return {
    ...anvil,
    settlement: inferenceSettlement,
    token: inferenceToken,
    minter: tokenMinter,
    stablecoin: usdc,
    timelock: timelockController,
    door: x402Door,
    startBlock: Number(deployment.block),
    mine,
    finalize: () => mine(FINALITY_DEPTH),
    latest: async () => Number(await rpc("eth_blockNumber")),
    reorg: (depth) => rpc("anvil_reorg", [depth, []]),
    async pauseMining() {
      await rpc("evm_setAutomine", [false]);
      paused = true;
    },
    async reset() {
      paused = false;
      // Transactions that wait for a block would be in the first one.
      await rpc("anvil_dropAllTransactions");
      await rpc("evm_setAutomine", [true]);
      await rpc("evm_revert", [snapshot]);
      snapshot = await rpc("evm_snapshot");
      // The chain's clock went back with it.
      await rpc("evm_setTime", [Math.floor(Date.now() / 1_000)]);
    },
    async activate(account, amount) {
      await send(deployer.address, inferenceSettlement, activateFor(account, amount));
    },
    async activateTwice(account, amount) {
      await send(deployer.address, TWICE, activateFor(account, amount));
    },
    async settle(records) {
      const { timestamp } = await rpc<{ timestamp: Hex }>("eth_getBlockByNumber", ["latest", false]);
      const chunk = encodeChunk(
        records.map(({ account, before, amount, root = ROOT }) => {
          return { account, beforeNanoUsd: before, amountNanoUsd: amount, root, parts: [] };
        }),
      );
      const args = [Math.floor(Number(timestamp) / 86_400), toHex(chunk)] as const;
      const data = encodeFunctionData({ abi: inferenceSettlementAbi, functionName: "settle", args });
      await send(settler, inferenceSettlement, data);
    },
    async raiseCeiling(to) {
      const data = encodeFunctionData({ abi: inferenceSettlementAbi, functionName: "raiseCeiling", args: [to] });
      await send(timelockController, inferenceSettlement, data);
    },
    async lowerCeiling(to) {
      const data = encodeFunctionData({ abi: inferenceSettlementAbi, functionName: "lowerCeiling", args: [to] });
      await send(guardian, inferenceSettlement, data);
    },
  };
}

/** Copies its calldata to memory, calls the target with it, and again. */
function twiceCode(target: Address): Hex {
  const call = `5f5f365f5f73${target.slice(2)}5af150`;
  return `0x365f5f37${call}${call}00`;
}
