/**
 * Deploys LayerZero V2 as on real chains (endpoint, message libraries, fee contracts, executor and two verifiers) on a
 * local chain.
 */

import { connectDeployer, createContract, type Deployer, DeploymentError, send } from "@inference/contracts/deployer";
import { LOCAL_CHAIN_IDS } from "@inference/contracts/development-keys";
import { ascending } from "@inference/contracts/layerzero-options";
import { npmCreationCode } from "@inference/contracts/npm-artifact";
import { type Account, type Address, concatHex, encodeAbiParameters, type Hex, parseAbi, zeroAddress } from "viem";

const PROTOCOL = "@layerzerolabs/lz-evm-protocol-v2/artifacts/contracts";
const MESSAGELIB = "@layerzerolabs/lz-evm-messagelib-v2/artifacts/contracts";

export interface LayerZeroAddresses {
  readonly endpoint: Address;
  readonly sendLibrary: Address;
  readonly receiveLibrary: Address;
  readonly executor: Address;
  /** In the order of their keys. Both must verify a message. */
  readonly verifiers: readonly [Address, Address];
}

export interface DeployLayerZeroOptions {
  readonly rpcUrl: string;
  /** Pays for the deployment and owns the contracts. */
  readonly deployer: Account;
  readonly eid: number;
  /** The endpoint ids of all other chains. */
  readonly remoteEids: readonly number[];
  /** The key of each verifier, with which it signs and submits its attestations. */
  readonly verifierKeys: readonly [Address, Address];
  /** Block confirmations of a message before it is verified. */
  readonly confirmations: bigint;
}

/** Deploys LayerZero on a local chain, with defaults that require both verifiers on every path. */
export async function deployLayerZero(options: DeployLayerZeroOptions): Promise<LayerZeroAddresses> {
  const deployer = await connectDeployer({ rpcUrl: options.rpcUrl, account: options.deployer });
  if (!LOCAL_CHAIN_IDS.includes(deployer.chainId)) {
    throw new DeploymentError(`Chain ${deployer.chainId} is not local: use the LayerZero that it has.`);
  }
  const owner = deployer.account.address;
  const create = async (path: string, parameters: Hex = "0x"): Promise<Address> =>
    createContract(deployer, path, concatHex([npmCreationCode(path), parameters]));

  const endpointArguments = encodeAbiParameters([{ type: "uint32" }, { type: "address" }], [options.eid, owner]);
  const endpoint = await create(`${PROTOCOL}/EndpointV2.sol/EndpointV2.json`, endpointArguments);
  const libraryArguments = encodeAbiParameters(
    [{ type: "address" }, { type: "uint256" }, { type: "uint256" }],
    [endpoint, TREASURY_GAS, 0n],
  );
  const sendLibrary = await create(`${MESSAGELIB}/uln/uln302/SendUln302.sol/SendUln302.json`, libraryArguments);
  const receiveLibrary = await create(
    `${MESSAGELIB}/uln/uln302/ReceiveUln302.sol/ReceiveUln302.json`,
    encodeAbiParameters([{ type: "address" }], [endpoint]),
  );
  const treasury = await create(`${MESSAGELIB}/Treasury.sol/Treasury.json`);
  const priceFeed = await create(`${MESSAGELIB}/PriceFeed.sol/PriceFeed.json`);
  const chain: LocalLayerZero = { ...options, endpoint, sendLibrary, receiveLibrary, treasury, priceFeed };

  await setPrices(deployer, chain);
  const executor = await createExecutor(deployer, chain, create);
  const verifiers = await createVerifiers(deployer, chain, create);
  await setDefaults(deployer, chain, { executor, verifiers });
  return { endpoint, sendLibrary, receiveLibrary, executor, verifiers };
}

interface LocalLayerZero extends DeployLayerZeroOptions {
  readonly endpoint: Address;
  readonly sendLibrary: Address;
  readonly receiveLibrary: Address;
  readonly treasury: Address;
  readonly priceFeed: Address;
}
type Create = (path: string, parameters?: Hex) => Promise<Address>;

const TREASURY_GAS = 100_000n;
const ETHER = 10n ** 18n;
/** The unit of the price feed: the native coins of both chains have the same value. */
const EQUAL_VALUE = 10n ** 20n;
const GAS_PRICE_WEI = 1_000_000_000n;
const GAS_PER_BYTE = 16;
/** The gas of a verification, and of an execution in addition to the message's own gas. */
const VERIFY_GAS = 110_000n;
const EXECUTE_GAS = 90_000n;
const MAX_MESSAGE_BYTES = 10_000;
/** LayerZero's fee contracts map the ids of all its versions into one range. */
const EID_RANGE = 30_000;

async function setPrices(deployer: Deployer, { priceFeed, remoteEids }: LocalLayerZero): Promise<void> {
  const feed = { address: priceFeed, abi: priceFeedAbi } as const;
  await send(deployer, { ...feed, functionName: "initialize", args: [deployer.account.address] });
  const price = { priceRatio: EQUAL_VALUE, gasPriceInUnit: GAS_PRICE_WEI, gasPerByte: GAS_PER_BYTE };
  const prices = remoteEids.map((eid) => ({ eid: eid % EID_RANGE, price }));
  await send(deployer, { ...feed, functionName: "setPrice", args: [prices] });
}

async function createExecutor(deployer: Deployer, chain: LocalLayerZero, create: Create): Promise<Address> {
  const { endpoint, sendLibrary, receiveLibrary, priceFeed, eid, remoteEids } = chain;
  const owner = deployer.account.address;
  const address = await create(`${MESSAGELIB}/Executor.sol/Executor.json`);
  const executor = { address, abi: executorAbi } as const;
  const wiring = [endpoint, zeroAddress, [sendLibrary, receiveLibrary], priceFeed, owner, [owner]] as const;
  await send(deployer, { ...executor, functionName: "initialize", args: wiring });
  const feeLibrary = await create(`${MESSAGELIB}/ExecutorFeeLib.sol/ExecutorFeeLib.json`, fee(eid));
  await send(deployer, { address, abi: workerAbi, functionName: "setWorkerFeeLib", args: [feeLibrary] });
  const configs = remoteEids.map((dstEid) => ({
    dstEid,
    lzReceiveBaseGas: EXECUTE_GAS,
    lzComposeBaseGas: EXECUTE_GAS,
    multiplierBps: 0,
    floorMarginUSD: 0n,
    nativeCap: ETHER,
  }));
  await send(deployer, { ...executor, functionName: "setDstConfig", args: [configs] });
  return address;
}

async function createVerifiers(
  deployer: Deployer,
  chain: LocalLayerZero,
  create: Create,
): Promise<readonly [Address, Address]> {
  const feeLibrary = await create(`${MESSAGELIB}/uln/dvn/DVNFeeLib.sol/DVNFeeLib.json`, fee(chain.eid));
  const [first, second] = chain.verifierKeys;
  return [
    await createVerifier(deployer, chain, { key: first, feeLibrary, create }),
    await createVerifier(deployer, chain, { key: second, feeLibrary, create }),
  ];
}

async function createVerifier(
  deployer: Deployer,
  { eid, remoteEids, sendLibrary, receiveLibrary, priceFeed }: LocalLayerZero,
  { key, feeLibrary, create }: { key: Address; feeLibrary: Address; create: Create },
): Promise<Address> {
  const parameters = encodeAbiParameters(verifierParameters, [
    eid,
    eid % EID_RANGE,
    [sendLibrary, receiveLibrary],
    priceFeed,
    [key],
    1n,
    [deployer.account.address, key],
  ]);
  const address = await create(`${MESSAGELIB}/uln/dvn/DVN.sol/DVN.json`, parameters);
  const verifier = { address, abi: workerAbi } as const;
  await send(deployer, { ...verifier, functionName: "setWorkerFeeLib", args: [feeLibrary] });
  const configs = remoteEids.map((dstEid) => ({ dstEid, gas: VERIFY_GAS, multiplierBps: 0, floorMarginUSD: 0n }));
  await send(deployer, { ...verifier, functionName: "setDstConfig", args: [configs] });
  return address;
}

/** The defaults for contracts without their own configuration; the libraries reject a path without defaults. */
async function setDefaults(
  deployer: Deployer,
  { endpoint, sendLibrary, receiveLibrary, treasury, remoteEids, confirmations }: LocalLayerZero,
  { executor, verifiers }: { executor: Address; verifiers: readonly [Address, Address] },
): Promise<void> {
  const sending = { address: sendLibrary, abi: libraryAbi } as const;
  const receiving = { address: receiveLibrary, abi: libraryAbi } as const;
  const registry = { address: endpoint, abi: endpointAbi } as const;
  const verification = {
    confirmations,
    requiredDVNCount: verifiers.length,
    optionalDVNCount: 0,
    optionalDVNThreshold: 0,
    requiredDVNs: ascending(verifiers),
    optionalDVNs: [],
  };
  const paths = remoteEids.map((eid) => ({ eid, config: verification }));
  const executors = remoteEids.map((eid) => ({ eid, config: { maxMessageSize: MAX_MESSAGE_BYTES, executor } }));
  await send(deployer, { ...sending, functionName: "setTreasury", args: [treasury] });
  await send(deployer, { ...sending, functionName: "setDefaultExecutorConfigs", args: [executors] });
  await send(deployer, { ...sending, functionName: "setDefaultUlnConfigs", args: [paths] });
  await send(deployer, { ...receiving, functionName: "setDefaultUlnConfigs", args: [paths] });
  await send(deployer, { ...registry, functionName: "registerLibrary", args: [sendLibrary] });
  await send(deployer, { ...registry, functionName: "registerLibrary", args: [receiveLibrary] });
  for (const eid of remoteEids) {
    await send(deployer, { ...registry, functionName: "setDefaultSendLibrary", args: [eid, sendLibrary] });
    await send(deployer, { ...registry, functionName: "setDefaultReceiveLibrary", args: [eid, receiveLibrary, 0n] });
  }
}

/** A fee library's arguments: its chain, and the units in one of the chain's coins. */
function fee(eid: number): Hex {
  return encodeAbiParameters([{ type: "uint32" }, { type: "uint256" }], [eid, ETHER]);
}

const verifierParameters = [
  { type: "uint32" },
  { type: "uint32" },
  { type: "address[]" },
  { type: "address" },
  { type: "address[]" },
  { type: "uint64" },
  { type: "address[]" },
] as const;

const priceFeedAbi = parseAbi([
  "struct Price { uint128 priceRatio; uint64 gasPriceInUnit; uint32 gasPerByte; }",
  "struct UpdatePrice { uint32 eid; Price price; }",
  "function initialize(address priceUpdater)",
  "function setPrice(UpdatePrice[] prices)",
]);

const executorAbi = parseAbi([
  "struct Destination { uint32 dstEid; uint64 lzReceiveBaseGas; uint64 lzComposeBaseGas; uint16 multiplierBps; uint128 floorMarginUSD; uint128 nativeCap; }",
  "function initialize(address endpoint, address receiveUln301, address[] messageLibs, address priceFeed, address roleAdmin, address[] admins)",
  "function setDstConfig(Destination[] destinations)",
]);

const workerAbi = parseAbi([
  "struct Destination { uint32 dstEid; uint64 gas; uint16 multiplierBps; uint128 floorMarginUSD; }",
  "function setDstConfig(Destination[] destinations)",
  "function setWorkerFeeLib(address feeLibrary)",
]);

const libraryAbi = parseAbi([
  "struct UlnConfig { uint64 confirmations; uint8 requiredDVNCount; uint8 optionalDVNCount; uint8 optionalDVNThreshold; address[] requiredDVNs; address[] optionalDVNs; }",
  "struct UlnDefault { uint32 eid; UlnConfig config; }",
  "struct ExecutorConfig { uint32 maxMessageSize; address executor; }",
  "struct ExecutorDefault { uint32 eid; ExecutorConfig config; }",
  "function setTreasury(address treasury)",
  "function setDefaultExecutorConfigs(ExecutorDefault[] defaults)",
  "function setDefaultUlnConfigs(UlnDefault[] defaults)",
]);

const endpointAbi = parseAbi([
  "function registerLibrary(address lib)",
  "function setDefaultSendLibrary(uint32 eid, address lib)",
  "function setDefaultReceiveLibrary(uint32 eid, address lib, uint256 gracePeriod)",
]);
