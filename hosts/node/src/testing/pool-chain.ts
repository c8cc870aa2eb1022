import { createChainReader } from "@inference/chain/reader";
import { createChainClient } from "@inference/chain/rpc";
import { startAnvil } from "@inference/chain/testing/anvil";
import { deploySettlement } from "@inference/chain/testing/settlement";
import { timers } from "@inference/chain/testing/timers";
import { confirm, connectDeployer, createContract } from "@inference/contracts/deployer";
import { agentRegistry } from "@inference/contracts/generated/agent-registry";
import { agentToken } from "@inference/contracts/generated/agent-token";
import { inferencePool } from "@inference/contracts/generated/inference-pool";
import { deployLocalToken, fundLocalToken } from "@inference/devnet/third-parties/local-token";
import { createSafe, deploySafeContracts } from "@inference/devnet/third-parties/safe";
import type { ChainReader } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { encodeDeployData, erc20Abi, type Hex, hashMessage, parseEventLogs } from "viem";
import { mnemonicToAccount, type PrivateKeyAccount } from "viem/accounts";

/** A real chain with a real pool: who stakes there has a capacity from the next day on. */
export type PoolChain = AsyncDisposable & {
  chain: ChainReader;
  /** How often the node was asked for each kind of thing. */
  asked: { method: string; to: string | undefined }[];
  /** The node refuses every call, or takes it and says nothing, or works again. */
  fail(how: "refusing" | "silent" | null): void;
  pool: Address;
  /** A day's dollars for an identity, from tomorrow on. */
  stake(identity: Address, usd: number): Promise<void>;
  /** An agent's token, born in the registry, of this owner. */
  makeAgent(owner: Address): Promise<Address>;
  /** The same contract, made by somebody. */
  makeLookalike(owner: Address): Promise<Address>;
  /** A contract with this code. */
  makeContract(code: string): Promise<Address>;
  /** The deployer, who owns it, gives it away. */
  giveAgent(agent: Address, to: Address): Promise<void>;
  /** Its owner, the deployer, names a key that signs for it, which proves itself. */
  setComputer(agent: Address, computer: PrivateKeyAccount): Promise<void>;
  /** Its owner, the deployer, caps its capacity, from tomorrow on. */
  reserve(agent: Address, usd: number): Promise<void>;
  makeSafe(owner: Address): Promise<Address>;
  /** The next block is at this time. */
  mineAt(atMs: number): Promise<void>;
  /** Who deployed everything. */
  deployer: PrivateKeyAccount | ReturnType<typeof mnemonicToAccount>;
};

const CHAIN_ID = 31_337;
const MARKET: Address = "0x00000000000000000000000000000000000000aa";
const DOLLAR_A_DAY = 10n ** 18n;

export async function startPoolChain(): Promise<PoolChain> {
  const anvil = await startAnvil(CHAIN_ID);
  const account = mnemonicToAccount("test test test test test test test test test test test junk");
  const { rpcUrl } = anvil;
  const deployer = await connectDeployer({ rpcUrl, account });
  const token = await deployLocalToken({ rpcUrl, issuer: account, name: "Stake", symbol: "STK" });
  const funds = 1_000_000n * DOLLAR_A_DAY;
  await fundLocalToken({ rpcUrl, token, issuer: account, to: account.address, amount: funds });
  const pool = await createContract(deployer, "pool", encodeDeployData({ ...inferencePool, args: [token] }));
  const approval = { address: token, abi: erc20Abi, functionName: "approve", args: [pool, funds] } as const;
  await confirm(deployer, "approve", await deployer.writer.writeContract(approval));
  const safeContracts = await deploySafeContracts(rpcUrl, account);
  // A treasury asks its market for the dollar when it is made, and no more here.
  await anvil.rpc("anvil_setCode", [MARKET, `0x7f${token.slice(2).padStart(64, "0")}5f5260205ff3`]);
  const { safeProxyFactory, safeSingleton, safeFallbackHandler } = safeContracts;
  const registryArgs = [pool, MARKET, safeProxyFactory, safeSingleton, safeFallbackHandler] as const;
  const registryCode = encodeDeployData({ ...agentRegistry, args: registryArgs });
  const registry = await createContract(deployer, "registry", registryCode);
  const settlement = await deploySettlement(rpcUrl, { pool, registry });

  let failing: "refusing" | "silent" | null = null;
  const asked: PoolChain["asked"] = [];
  const client = createChainClient({
    url: rpcUrl,
    random: () => 0,
    timers,
    pauseMs: 1,
    fetch: (url, init) => {
      const { method, params } = JSON.parse(String(init?.body)) as { method: string; params: { to?: string }[] };
      asked.push({ method, to: params[0]?.to?.toLowerCase() });
      if (failing === null) return fetch(url, init);
      if (failing === "refusing") return Promise.reject(new Error("no route to the node"));
      return new Promise((_, reject) => init?.signal?.addEventListener("abort", () => reject(new Error("given up"))));
    },
  });
  const chain = createChainReader({
    client,
    settlement,
    timers,
    watcher: {
      pendingActivations: () => [],
      status: () => ({ state: "following", block: 0, head: 0, lagBlocks: 0, lastPollAt: null }),
    },
  });

  return {
    chain,
    asked,
    fail(how) {
      failing = how;
    },
    pool,
    deployer: account,
    async stake(identity, usd) {
      const args = [identity, BigInt(usd) * DOLLAR_A_DAY] as const;
      const call = { address: pool, abi: inferencePool.abi, functionName: "enterFor", args } as const;
      await confirm(deployer, "enterFor", await deployer.writer.writeContract(call));
    },
    async makeAgent(owner) {
      const args = ["Agent", "AGT", 0n, owner] as const;
      const call = { address: registry, abi: agentRegistry.abi, functionName: "create", args } as const;
      const { logs } = await confirm(deployer, "create", await deployer.writer.writeContract(call));
      const [born] = parseEventLogs({ abi: agentRegistry.abi, eventName: "AgentCreated", logs });
      if (born === undefined) throw new Error("the registry made no agent");
      return born.args.agentToken;
    },
    makeLookalike(owner) {
      const args = ["Agent", "AGT", 0n, owner, pool] as const;
      return createContract(deployer, "agent", encodeDeployData({ ...agentToken, args }));
    },
    makeContract(code) {
      const length = (code.length / 2).toString(16).padStart(4, "0");
      return createContract(deployer, "contract", `0x61${length}80600a5f395ff3${code}`);
    },
    async giveAgent(agent, to) {
      const call = { address: agent, abi: agentToken.abi, functionName: "transferOwnership", args: [to] } as const;
      await confirm(deployer, "transferOwnership", await deployer.writer.writeContract(call));
    },
    async setComputer(agent, computer) {
      const target = { address: registry, abi: agentRegistry.abi } as const;
      const signed = [agent, account.address, computer.address] as const;
      const hash = await deployer.reader.readContract({ ...target, functionName: "computerDigest", args: signed });
      const args = [agent, computer.address, await computer.sign({ hash })] as const;
      const call = { ...target, functionName: "setComputer", args } as const;
      await confirm(deployer, "setComputer", await deployer.writer.writeContract(call));
    },
    async reserve(agent, usd) {
      const args = [BigInt(usd) * DOLLAR_A_DAY] as const;
      const call = { address: agent, abi: agentToken.abi, functionName: "setReserve", args } as const;
      await confirm(deployer, "setReserve", await deployer.writer.writeContract(call));
    },
    makeSafe: (owner) => createSafe({ rpcUrl, account, contracts: safeContracts, owner }),
    async mineAt(atMs) {
      await anvil.rpc("evm_setNextBlockTimestamp", [Math.floor(atMs / 1_000)]);
      await anvil.rpc("evm_mine");
    },
    [Symbol.asyncDispose]: () => anvil.stop(),
  };
}

/** As a Safe's owner signs a message of the Safe's. */
export function signForSafe(safe: Address, owner: PrivateKeyAccount, message: string): Promise<Hex> {
  return owner.signTypedData({
    domain: { chainId: CHAIN_ID, verifyingContract: safe },
    types: { SafeMessage: [{ name: "message", type: "bytes" }] },
    primaryType: "SafeMessage",
    message: { message: hashMessage(message) },
  });
}
