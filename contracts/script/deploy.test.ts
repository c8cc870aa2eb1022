import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  deployPrimary,
  type PrimaryAddresses,
  type PrimaryDeployment,
} from "@inference/devnet/third-parties/deploy-primary";
import { deployUsdc, fundUsdc, usdcAdminAbi } from "@inference/devnet/third-parties/usdc";
import {
  type Account,
  type Address,
  createPublicClient,
  createTestClient,
  createWalletClient,
  http,
  parseEther,
  parseEventLogs,
  publicActions,
} from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { create3Factory } from "../generated/create3-factory.ts";
import { inferenceSettlement } from "../generated/inference-settlement.ts";
import { inferenceToken } from "../generated/inference-token.ts";
import { tokenMinter } from "../generated/token-minter.ts";
import { type Anvil, startAnvil } from "./anvil.ts";
import { DEVELOPMENT_ADDRESSES, DevelopmentKeyError } from "./deploy.ts";
import { receiptOf } from "./receipt.ts";

const account = (addressIndex: number) =>
  mnemonicToAccount("test test test test test test test test test test test junk", { addressIndex });
const [deployer, alice] = [account(0), account(1)] as const;
const roles = { proposer: account(2).address, guardian: account(3).address, settler: account(4).address };
const proxyAdmin = account(9).address;
const DOLLAR = 1_000_000n;

let anvil: Anvil;
let rpcUrl: string;
let usdc: Address;
let primary: PrimaryDeployment;

before(async () => {
  anvil = await startAnvil(31337);
  rpcUrl = anvil.rpcUrl;
  usdc = await deployUsdc({ rpcUrl, deployer, proxyAdmin });
  primary = await deployPrimary({ rpcUrl, deployer, ...roles, stablecoin: usdc });
});
after(() => anvil[Symbol.asyncDispose]());

test("a deployed minter turns real USDC into credit, in one event", async () => {
  const { tokenMinter: minter, inferenceSettlement: settlement, inferenceToken: token } = primary.addresses;
  const { reader, send } = wallet(alice);
  await fundUsdc({ rpcUrl, usdc, masterMinter: deployer, to: alice.address, amount: 3n * DOLLAR });
  const approve = {
    address: usdc,
    abi: inferenceToken.abi,
    functionName: "approve",
    args: [minter, 3n * DOLLAR],
  } as const;
  await send(approve);
  await send({ address: minter, abi: tokenMinter.abi, functionName: "mint", args: [2n * DOLLAR] });
  await send({ address: minter, abi: tokenMinter.abi, functionName: "mintAndActivate", args: [DOLLAR, alice.address] });
  const receipt = await send({
    address: settlement,
    abi: inferenceSettlement.abi,
    functionName: "activate",
    args: [DOLLAR / 2n],
  });

  const [event] = parseEventLogs({ abi: inferenceSettlement.abi, eventName: "Activated", logs: receipt.logs });
  deepEqual(event?.args, {
    id: 2n,
    account: alice.address,
    from: alice.address,
    amount: DOLLAR / 2n,
    totalActivated: (3n * DOLLAR) / 2n,
    accountActivatedNanoUsd: 1_500_000_000n,
    srcEid: 0,
    guid: `0x${"0".repeat(64)}`,
  });
  const backing = await reader.readContract({ address: minter, abi: tokenMinter.abi, functionName: "backing" });
  const supply = await reader.readContract({ address: token, abi: inferenceToken.abi, functionName: "totalSupply" });
  deepEqual({ backing, supply }, { backing: 3n * DOLLAR, supply: (3n * DOLLAR) / 2n });
});

test("a deployment's block is the first that has a contract of it", async () => {
  const { reader } = wallet(alice);
  const address = primary.addresses.create3Factory;
  const logs = await reader.getLogs({ address, fromBlock: 0n });
  equal(logs.length, 8);
  ok(logs.every((log) => log.blockNumber >= primary.block));
  notEqual(await reader.getCode({ address, blockNumber: primary.block }), undefined);
  equal(await reader.getCode({ address, blockNumber: primary.block - 1n }), undefined);
});

test("the factory is sealed: its owner can deploy nothing more", async () => {
  const { send } = wallet(deployer);
  const attempt = send({
    address: primary.addresses.create3Factory,
    abi: create3Factory.abi,
    functionName: "deploy",
    args: [`0x${"1".repeat(64)}`, "0x00"],
  });
  await rejects(attempt, /AlreadySealed/);
});

test("USDC and its implementation cannot be initialized again", async () => {
  const { reader } = wallet(deployer);
  // The slot in which FiatTokenProxy keeps its implementation: keccak256("org.zeppelinos.proxy.implementation").
  const slot = "0x7050c9e0f4ca769c69bd3a8ef740bc37934f8e2c036e5a723fd8ee048ed3f8c3";
  const word = await reader.getStorageAt({ address: usdc, slot });
  const implementation: Address = `0x${word?.slice(-40)}`;
  for (const address of [usdc, implementation]) {
    const again = reader.simulateContract({
      account: alice,
      address,
      abi: usdcAdminAbi,
      functionName: "initialize",
      args: ["", "", "", 6, alice.address, alice.address, alice.address, alice.address],
    });
    await rejects(again, /contract is already initialized/);
    const last = {
      account: alice,
      address,
      abi: usdcAdminAbi,
      functionName: "initializeV2_2",
      args: [[], ""],
    } as const;
    await rejects(reader.simulateContract(last), /reverted/);
  }
});

test("the same deployer gets the same addresses on another chain, with any stablecoin", async () => {
  await using other = await startAnvil(31338);
  const secondUsdc = await deployUsdc({ rpcUrl: other.rpcUrl, deployer: account(5), proxyAdmin });
  const second = await deployPrimary({ rpcUrl: other.rpcUrl, deployer, ...roles, stablecoin: secondUsdc });
  equal(second.chainId, 31338);
  deepEqual({ ...second.addresses, stablecoin: usdc }, primary.addresses);
});

test("a deployment that ran out of the native coin is finished by a second run", async () => {
  await using other = await startAnvil(31338);
  const stablecoin = await deployUsdc({ rpcUrl: other.rpcUrl, deployer: account(5), proxyAdmin });
  const chain = createTestClient({ mode: "anvil", transport: http(other.rpcUrl) }).extend(publicActions);
  const address = deployer.address;
  const codeAt = async (name: keyof PrimaryAddresses) => await chain.getCode({ address: primary.addresses[name] });

  await chain.setBalance({ address, value: parseEther("0.004") });
  await rejects(deployPrimary({ rpcUrl: other.rpcUrl, deployer, ...roles, stablecoin }), /exceeds|insufficient/i);
  notEqual(await codeAt("create3Factory"), undefined);
  equal(await codeAt("inferenceSettlement"), undefined);
  const interruptedAt = await chain.getBlockNumber();

  await chain.mine({ blocks: 300 });
  await chain.setBalance({ address, value: parseEther("1") });
  const finished = await deployPrimary({ rpcUrl: other.rpcUrl, deployer, ...roles, stablecoin });
  equal(finished.addresses.inferenceSettlement, primary.addresses.inferenceSettlement);
  notEqual(await codeAt("inferenceSettlement"), undefined);
  ok(finished.block <= interruptedAt, `${finished.block} is not of the first run`);
});

test("a finished deployment is only checked, and keeps its block", async () => {
  const { reader } = wallet(deployer);
  const nonce = await reader.getTransactionCount({ address: deployer.address });
  const again = await deployPrimary({ rpcUrl, deployer, ...roles, stablecoin: usdc });
  deepEqual(again, primary);
  equal(await reader.getTransactionCount({ address: deployer.address }), nonce);
});

test("other settings on a finished deployment and a missing stablecoin are refused with the reason", async () => {
  const other = { ...roles, guardian: alice.address };
  await rejects(deployPrimary({ rpcUrl, deployer, ...other, stablecoin: usdc }), /guardian\(\) of .* is .*, not /);
  const nowhere = deployPrimary({ rpcUrl, deployer, ...roles, stablecoin: alice.address });
  await rejects(nowhere, /There is no stablecoin at/);
});

test("a development key gets no role on a chain that is not local, and nothing is sent", async () => {
  await using real = await startAnvil(8453);
  const phrase = "legal winner thank year wave sausage worth useful legal winner thank yellow";
  const [stranger, other, third, fourth]: Account[] = [0, 1, 2, 3].map((addressIndex) =>
    mnemonicToAccount(phrase, { addressIndex }),
  );
  ok(stranger !== undefined && other !== undefined && third !== undefined && fourth !== undefined);
  const clean = { proposer: other.address, guardian: fourth.address, settler: third.address };
  for (const role of ["proposer", "guardian", "settler"] as const) {
    const options = { rpcUrl: real.rpcUrl, deployer: stranger, ...clean, [role]: roles[role], stablecoin: usdc };
    await rejects(deployPrimary(options), (error: Error) => {
      equal(error instanceof DevelopmentKeyError, true, error.message);
      match(error.message, new RegExp(`cannot be the ${role} on chain 8453`));
      return true;
    });
  }
  await rejects(deployPrimary({ rpcUrl: real.rpcUrl, deployer, ...clean, stablecoin: usdc }), DevelopmentKeyError);
  await rejects(deployUsdc({ rpcUrl: real.rpcUrl, deployer, proxyAdmin: other.address }), DevelopmentKeyError);
  const allowed = deployPrimary({ rpcUrl: real.rpcUrl, deployer: stranger, ...clean, stablecoin: usdc });
  await rejects(allowed, /There is no stablecoin at/);
  const blocks = await createPublicClient({ transport: http(real.rpcUrl) }).getBlockNumber();
  equal(blocks, 0n);
});

test("the listed development addresses are those of the development mnemonic", () => {
  deepEqual(
    DEVELOPMENT_ADDRESSES,
    DEVELOPMENT_ADDRESSES.map((_, index) => account(index).address),
  );
});

function wallet(from: Account) {
  const transport = http(rpcUrl);
  const reader = createPublicClient({ chain: foundry, transport, pollingInterval: 5, cacheTime: 0 });
  const writer = createWalletClient({ account: from, chain: foundry, transport });
  const send = async (call: Parameters<typeof reader.simulateContract>[0]) => {
    const { request } = await reader.simulateContract({ ...call, account: from });
    return await receiptOf(reader, await writer.writeContract(request));
  };
  return { reader, send };
}
