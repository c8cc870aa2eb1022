import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { after, before, test } from "node:test";
import { account } from "@inference/devnet/testing/local-chain";
import { deployer, type SharedChains, safeOwner, shareChains } from "@inference/devnet/testing/shared-chains";
import { LOCAL_CHAIN_NAMES, type LocalChainName, type LocalWorld } from "@inference/devnet/third-parties/local-chains";
import {
  type Address,
  concatHex,
  createPublicClient,
  createTestClient,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
  type PublicClient,
  pad,
  parseAbi,
  publicActions,
  stringToHex,
  walletActions,
  zeroAddress,
  zeroHash,
} from "viem";
import { foundry } from "viem/chains";
import { create3Factory } from "../generated/create3-factory.ts";
import { dollarPool } from "../generated/dollar-pool.ts";
import { inferenceSettlement } from "../generated/inference-settlement.ts";
import { tokenBridge } from "../generated/token-bridge.ts";
import { planDeployment } from "./contract-plan.ts";
import { type ChainDeployment, deploy, verifyDeployment, type WiringError } from "./deploy.ts";
import type { ChainConfig, DeploymentConfig } from "./deployment-config.ts";
import { receiptOf } from "./receipt.ts";
import { verifyChain } from "./verify-deployment.ts";

const stranger = account(1);
let chains: SharedChains;
let rpcUrls: SharedChains["rpcUrls"];
let world: LocalWorld;
let deployed: ChainDeployment[];

before(async () => {
  chains = await shareChains();
  rpcUrls = chains.rpcUrls;
  world = withConfirmations(chains.world, 3);
  deployed = await deploy(world.config, { rpcUrls, deployer });
});
after(() => chains.revert());

test("I11: each contract of ours has the same address on every chain on which it is deployed", async () => {
  const places = new Map<string, Set<string>>();
  for (const { addresses } of deployed) {
    for (const [name, address] of Object.entries(addresses)) {
      if (name !== "stablecoin") places.set(name, (places.get(name) ?? new Set()).add(address));
    }
  }
  for (const [name, addresses] of places) equal(addresses.size, 1, name);
  for (const { name, addresses } of deployed) {
    const reader = createPublicClient({ transport: http(rpcUrls[name as LocalChainName]) });
    for (const address of Object.values(addresses)) notEqual(await reader.getCode({ address }), undefined);
  }
  const has = (name: string) => deployed.filter(({ addresses }) => name in addresses).map((chain) => chain.name);
  const payments = ["x402Door", "gaslessTopUp", "standingOrders", "agentFeeLocker"];
  const others = ["inferenceToken", "tokenMinter", "tokenBridge", "agentRegistry", "timelockController"];
  for (const everywhere of [...payments, ...others]) {
    deepEqual(has(everywhere), [...LOCAL_CHAIN_NAMES]);
  }
  deepEqual(has("inferenceSettlement"), ["primary"]);
  deepEqual(has("tokenBackingOutbox"), ["secondary1", "secondary2"]);
  deepEqual(has("backingInbox31339"), ["primary"]);
});

test("a finished deployment is verified again and nothing is sent", async () => {
  const sent = () =>
    Promise.all(
      Object.values(rpcUrls).map((url) =>
        createPublicClient({ transport: http(url) }).getTransactionCount({ address: deployer.address }),
      ),
    );
  const before = await sent();
  const again = await deploy(world.config, { rpcUrls, deployer });
  deepEqual(
    again,
    deployed.map((chain) => ({ ...chain, gasUsed: 0n })),
  );
  deepEqual(await sent(), before);
});

test("verification names every peer, library, verifier set, role and owner that differs from the file", async () => {
  const wrongOf = (change: (chains: Record<string, ChainConfig>) => object, rest: object = {}) => {
    const chains = change(world.config.chains as Record<string, ChainConfig>);
    const config = { ...world.config, ...rest, chains: { ...world.config.chains, ...chains } } as DeploymentConfig;
    return verifyDeployment(config, rpcUrls).then(
      () => [],
      (error: WiringError) => error.wrong.map((line) => line.slice(0, line.indexOf("("))),
    );
  };
  deepEqual(await wrongOf(() => ({})), []);
  const onPrimary = (change: (chain: ChainConfig) => object) =>
    wrongOf(({ primary }) => ({ primary: { ...primary, ...(primary && change(primary)) } }));
  const layerZero = (change: object) => onPrimary((chain) => ({ layerZero: { ...chain.layerZero, ...change } }));
  deepEqual(await onPrimary(() => ({ proposer: stranger.address })), ["hasRole", "hasRole"]);
  deepEqual(await onPrimary(() => ({ guardian: stranger.address })), ["guardian", "guardian"]);
  const other = { settler: stranger.address, provider: stranger.address, receiptKey: zeroHash };
  deepEqual(await onPrimary(() => ({ primary: other })), ["settler", "provider", "receiptKey"]);
  const agents = (change: object) => onPrimary((chain) => ({ agents: { ...chain.agents, ...change } }));
  const safe = { safeProxyFactory: stranger.address, safeSingleton: stranger.address };
  deepEqual(await agents(safe), ["SAFE_FACTORY", "SAFE_SINGLETON"]);
  deepEqual(await agents({ uniswapPositionManager: stranger.address }), ["POSITIONS"]);
  deepEqual(await agents({ safeFallbackHandler: stranger.address }), ["SAFE_FALLBACK_HANDLER"]);
  deepEqual(await layerZero({ executor: stranger.address }), ["executorConfigs.1", "executorConfigs.1"]);
  deepEqual(await layerZero({ verifiers: [stranger.address, deployer.address] }), [
    ...["getAppUlnConfig", "getAppUlnConfig", "getAppUlnConfig", "getAppUlnConfig"],
  ]);
  deepEqual(await layerZero({ confirmations: 7 }), ["getAppUlnConfig", "getAppUlnConfig"]);
  deepEqual(await wrongOf(() => ({}), { dailyMintCap: 1n, messageGas: 2n }), ["DAILY_MINT_CAP", "options"]);
  deepEqual(await wrongOf(() => ({}), { timelockDelaySeconds: 1n }), ["getMinDelay"]);
  const dollars = (change: object) =>
    wrongOf(({ secondary1 }) => ({ secondary1: { ...secondary1, ...change } as ChainConfig }));
  const { dollarPool: counterpart, stablecoin } = world.sites.primary;
  deepEqual(await dollars({ dollarOft: stranger.address }), ["peers"]);
  deepEqual(await dollars({ dollarOftOnPrimary: stablecoin }), ["token"]);
  deepEqual(await dollars({ dollarOftOnPrimary: stranger.address }), ["token"]);
  deepEqual(await onPrimary(() => ({ stablecoin: counterpart })), [
    ...Array(6).fill("STABLECOIN"),
    ...["token", "token"],
  ]);
});

test("verification names a dollar bridge that rejects every message, before dollars are sent to it", async () => {
  const { secondary1 } = world.sites;
  const client = createTestClient({
    ...{ mode: "anvil", chain: foundry, account: deployer, transport: http(rpcUrls.secondary1) },
  }).extend(walletActions);
  const reader = createPublicClient({ transport: http(rpcUrls.secondary1) });
  const before = await client.snapshot();
  // Empty options pay for no delivery.
  const enforced = [{ eid: world.sites.primary.eid, msgType: 1, options: "0x0003" }] as const;
  const call = { address: secondary1.dollarPool, abi: dollarPool.abi, functionName: "setEnforcedOptions" } as const;
  await receiptOf(reader, await client.writeContract({ ...call, args: [enforced] }));
  await rejects(verifyDeployment(world.config, rpcUrls), (error: WiringError) => {
    deepEqual(error.wrong.length, 1);
    match(String(error.wrong), /^quote\(10000000\) of .* has no answer/);
    return true;
  });
  await client.revert({ id: before });
});

test("verification names each contract whose code differs", async () => {
  const client = createTestClient({ mode: "anvil", chain: foundry, transport: http(rpcUrls.primary) }).extend(
    publicActions,
  );
  const [primary] = deployed;
  for (const [name, address] of Object.entries(primary?.addresses ?? {})) {
    if (name === "create3Factory" || name === "stablecoin") continue;
    const code = (await client.getCode({ address })) ?? "0x";
    const bytecode = `${code.slice(0, -2)}${code.endsWith("5b") ? "00" : "5b"}` as Hex;
    await client.setCode({ address, bytecode });
    await rejects(verifyDeployment(world.config, rpcUrls), (error: WiringError) => {
      return error.wrong.some((line) => line.startsWith(`the code at ${address} is not this version's`));
    });
    await client.setCode({ address, bytecode: code });
  }
  await verifyDeployment(world.config, rpcUrls);
});

test("verification names an OFT on a secondary chain that differs from the file", async () => {
  const secondary1 = { ...world.config.chains.secondary1, dollarOft: stranger.address } as ChainConfig;
  const config = { ...world.config, chains: { ...world.config.chains, secondary1 } };
  const plan = planDeployment(config).find(({ name }) => name === "secondary1");
  const reader = createPublicClient({ transport: http(rpcUrls.secondary1) });
  // The stranger answers nothing, like a pool without peers, so its peer is not checked.
  await rejects(plan === undefined ? Promise.resolve() : verifyChain(config, plan, reader), (error: WiringError) => {
    deepEqual(error.wrong.length, 1);
    match(String(error.wrong), /^OFT\(\)/);
    return true;
  });
});

test("the deployer has no role on any chain, and its factories deploy nothing more", async () => {
  for (const { name, addresses } of deployed) {
    const reader = createPublicClient({ transport: http(rpcUrls[name as LocalChainName]) });
    const { timelockController = "0x", tokenBridge: bridge = "0x", create3Factory: factory = "0x" } = addresses;
    const timelock = { address: timelockController, abi: timelockAbi } as const;
    for (const role of [zeroHash, ...["PROPOSER_ROLE", "CANCELLER_ROLE", "EXECUTOR_ROLE"].map(roleId)]) {
      const args = [role, deployer.address] as const;
      equal(await reader.readContract({ ...timelock, functionName: "hasRole", args }), false, `${name}: ${role}`);
    }
    const holders = [
      await reader.readContract({ address: bridge, abi: tokenBridge.abi, functionName: "owner" }),
      await reader.readContract({ address: bridge, abi: tokenBridge.abi, functionName: "guardian" }),
      await delegateOf(reader, world.sites[name as LocalChainName].layerZero.endpoint, bridge),
      ...(name === "primary" ? await settlementRoles(reader, addresses.inferenceSettlement) : []),
    ];
    ok(!holders.includes(deployer.address), `${name}: ${holders}`);
    const more = { address: factory, abi: create3Factory.abi, account: deployer.address } as const;
    const deployment = { ...more, functionName: "deploy", args: [zeroHash, "0x00"] } as const;
    await rejects(reader.simulateContract(deployment), /AlreadySealed/);
  }
});

test("a file that gives the deployer a role is refused", async () => {
  const chains = Object.fromEntries(
    Object.entries(world.config.chains).map(([name, chain]) => [name, { ...chain, guardian: deployer.address }]),
  );
  await rejects(deploy({ ...world.config, chains }, { rpcUrls, deployer }), /the guardian is the deployer/);
});

test("a node of another chain, a key of another account and a missing dependency are refused before anything is sent", async () => {
  const swapped = { ...rpcUrls, secondary1: rpcUrls.secondary2 };
  await rejects(deploy(world.config, { rpcUrls: swapped, deployer }), /secondary1 is to be chain 31338/);
  await rejects(deploy(world.config, { rpcUrls, deployer: stranger }), /The deployer is to be/);
  const { primary } = world.config.chains;
  ok(primary?.agents !== undefined);
  const agents = { ...primary.agents, uniswapFactory: stranger.address };
  const chains = { ...world.config.chains, primary: { ...primary, agents } };
  const attempt = deploy({ ...world.config, chains }, { rpcUrls, deployer });
  await rejects(attempt, (error: Error) => {
    match(error.message, /There is no Uniswap factory at/);
    return true;
  });
});

test("only the protocol's Safe can raise the ceiling, through the timelock and after 48 hours", async () => {
  const chain = { ...foundry, id: 31337 };
  const options = { chain, mode: "anvil", transport: http(rpcUrls.primary), pollingInterval: 5, cacheTime: 0 } as const;
  const client = createTestClient(options).extend(publicActions).extend(walletActions);
  const { inferenceSettlement: to = "0x", timelockController: timelock = "0x" } = deployed[0]?.addresses ?? {};
  const settlement = { address: to, abi: inferenceSettlement.abi } as const;
  const ceiling = () => client.readContract({ ...settlement, functionName: "ceilingNanoUsd" });
  const data = encodeFunctionData({ ...settlement, functionName: "raiseCeiling", args: [60_000_000_000n] });
  const operation = [to, 0n, data, zeroHash, zeroHash] as const;
  const proposal = {
    address: timelock,
    abi: timelockAbi,
    functionName: "schedule",
    args: [...operation, DELAY],
  } as const;
  for (const nobody of [deployer, stranger, safeOwner]) {
    await rejects(client.simulateContract({ ...proposal, account: nobody }));
    await rejects(
      client.simulateContract({
        ...settlement,
        account: nobody,
        functionName: "raiseCeiling",
        args: [60_000_000_000n],
      }),
    );
  }
  const scheduled = await client.writeContract({
    account: safeOwner,
    address: world.sites.primary.protocolSafe,
    abi: safeAbi,
    functionName: "execTransaction",
    // The owner sends the transaction itself, so its address suffices in place of a signature.
    args: [timelock, 0n, encodeFunctionData(proposal), 0, 0n, 0n, 0n, zeroAddress, zeroAddress, ownerIsSender],
  });
  equal((await receiptOf(client, scheduled)).status, "success");
  const execution = { address: timelock, abi: timelockAbi, functionName: "execute", args: operation } as const;
  await client.increaseTime({ seconds: Number(DELAY) - 10 });
  await rejects(client.simulateContract({ ...execution, account: stranger }));
  await client.increaseTime({ seconds: 20 });
  equal(await ceiling(), 50_000_000_000n);
  await receiptOf(client, await client.writeContract({ ...execution, account: stranger }));
  equal(await ceiling(), 60_000_000_000n);
});

const DELAY = 48n * 3_600n;
const ownerIsSender = concatHex([pad(safeOwner.address), zeroHash, "0x01"]);
const safeAbi = parseAbi([
  "function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures) payable returns (bool)",
]);
const timelockAbi = parseAbi([
  "function hasRole(bytes32 role, address account) view returns (bool)",
  "function schedule(address target, uint256 value, bytes data, bytes32 predecessor, bytes32 salt, uint256 delay)",
  "function execute(address target, uint256 value, bytes payload, bytes32 predecessor, bytes32 salt) payable",
]);

function roleId(role: string): Hex {
  return keccak256(stringToHex(role));
}

/** The account that may change the bridge's configuration at the endpoint. */
function delegateOf(reader: PublicClient, address: Address, bridge: Address): Promise<Address> {
  const abi = parseAbi(["function delegates(address oapp) view returns (address)"]);
  return reader.readContract({ address, abi, functionName: "delegates", args: [bridge] });
}

function settlementRoles(reader: PublicClient, address: Address = "0x"): Promise<Address[]> {
  const settlement = { address, abi: inferenceSettlement.abi } as const;
  const roles = ["guardian", "settler", "provider", "TIMELOCK"] as const;
  return Promise.all(roles.map((functionName) => reader.readContract({ ...settlement, functionName })));
}

/** Different confirmations for one chain: a pathway that confuses its two directions is then not as the file says. */
function withConfirmations(world: LocalWorld, confirmations: number): LocalWorld {
  const { primary, ...others } = world.config.chains;
  const changed = { ...primary, layerZero: { ...primary?.layerZero, confirmations } } as ChainConfig;
  return { ...world, config: { ...world.config, chains: { primary: changed, ...others } } };
}
