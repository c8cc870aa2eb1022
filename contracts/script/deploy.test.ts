import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { after, before, test } from "node:test";
import { account } from "@inference/devnet/testing/local-chain";
import { deployer, type SharedChains, shareChains } from "@inference/devnet/testing/shared-chains";
import { deployPrimary } from "@inference/devnet/third-parties/deploy-primary";
import { deployUsdc } from "@inference/devnet/third-parties/usdc";
import { createPublicClient, createTestClient, http, parseEther, publicActions } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { startAnvil } from "./anvil.ts";
import { DEVELOPMENT_ADDRESSES, DevelopmentKeyError } from "./deploy.ts";

const roles = { proposer: account(2).address, guardian: account(3).address, settler: account(4).address };
let chains: SharedChains;

before(async () => {
  chains = await shareChains();
});
after(() => chains.revert());

test("a deployment that ran out of the native coin is finished by a second run", async () => {
  const { stablecoin } = chains.world.sites.primary;
  const rpcUrl = chains.rpcUrls.primary;
  const chain = createTestClient({ mode: "anvil", transport: http(rpcUrl) }).extend(publicActions);
  const { address } = deployer;

  await chain.setBalance({ address, value: parseEther("0.004") });
  await rejects(deployPrimary({ rpcUrl, deployer, ...roles, stablecoin }), /exceeds|insufficient/i);
  const interruptedAt = await chain.getBlockNumber();

  await chain.mine({ blocks: 300 });
  await chain.setBalance({ address, value: parseEther("1") });
  const { block, addresses } = await deployPrimary({ rpcUrl, deployer, ...roles, stablecoin });
  const { create3Factory: factory, inferenceSettlement: settlement } = addresses;
  ok(block <= interruptedAt, `${block} is not of the first run`);
  equal(await chain.getCode({ address: factory, blockNumber: block - 1n }), undefined);
  notEqual(await chain.getCode({ address: factory, blockNumber: block }), undefined);
  equal(await chain.getCode({ address: settlement, blockNumber: interruptedAt }), undefined);
  notEqual(await chain.getCode({ address: settlement }), undefined);
});

test("a development key gets no role on a chain that is not local, and nothing is sent", async () => {
  await using real = await startAnvil(8453);
  const { rpcUrl } = real;
  const { stablecoin } = chains.world.sites.primary;
  const phrase = "legal winner thank year wave sausage worth useful legal winner thank yellow";
  const clean = (addressIndex: number) => mnemonicToAccount(phrase, { addressIndex });
  const cleanRoles = { proposer: clean(1).address, guardian: clean(2).address, settler: clean(3).address };
  const options = { rpcUrl, deployer: clean(0), ...cleanRoles, stablecoin };
  for (const role of ["proposer", "guardian", "settler"] as const) {
    await rejects(deployPrimary({ ...options, [role]: roles[role] }), (error: Error) => {
      equal(error instanceof DevelopmentKeyError, true, error.message);
      match(error.message, new RegExp(`cannot be the ${role} on chain 8453`));
      return true;
    });
  }
  await rejects(deployPrimary({ ...options, deployer }), DevelopmentKeyError);
  await rejects(deployUsdc({ rpcUrl, deployer, proxyAdmin: cleanRoles.proposer }), DevelopmentKeyError);
  await rejects(deployPrimary(options), /There is no stablecoin at/);
  equal(await createPublicClient({ transport: http(rpcUrl) }).getBlockNumber(), 0n);
});

test("the listed development addresses are those of the development mnemonic", () => {
  deepEqual(
    DEVELOPMENT_ADDRESSES,
    DEVELOPMENT_ADDRESSES.map((_, index) => account(index).address),
  );
});
