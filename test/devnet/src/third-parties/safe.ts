/** Deploys Safe 1.5.0 on a chain that lacks it, and creates Safes with its factory. */

import { connectDeployer, createContract, DeploymentError, send } from "@inference/contracts/deployer";
import { npmCreationCode } from "@inference/contracts/npm-artifact";
import { type Account, type Address, encodeFunctionData, parseAbi, parseEventLogs, zeroAddress } from "viem";

const ARTIFACTS = "@safe-global/safe-smart-account/build/artifacts/contracts";

export interface SafeContracts {
  readonly safeProxyFactory: Address;
  readonly safeSingleton: Address;
  readonly safeFallbackHandler: Address;
}

export async function deploySafeContracts(rpcUrl: string, account: Account): Promise<SafeContracts> {
  const deployer = await connectDeployer({ rpcUrl, account });
  const create = (path: string): Promise<Address> =>
    createContract(deployer, path, npmCreationCode(`${ARTIFACTS}/${path}`));
  return {
    safeProxyFactory: await create("proxies/SafeProxyFactory.sol/SafeProxyFactory.json"),
    safeSingleton: await create("SafeL2.sol/SafeL2.json"),
    safeFallbackHandler: await create("handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler.json"),
  };
}

export interface CreateSafeOptions {
  readonly rpcUrl: string;
  /** Pays for the deployment and gets no role. */
  readonly account: Account;
  readonly contracts: SafeContracts;
  readonly owner: Address;
}

/** Creates a Safe with one owner. */
export async function createSafe({ rpcUrl, account, contracts, owner }: CreateSafeOptions): Promise<Address> {
  const deployer = await connectDeployer({ rpcUrl, account });
  const setup = encodeFunctionData({
    abi: safeAbi,
    functionName: "setup",
    args: [[owner], 1n, zeroAddress, "0x", contracts.safeFallbackHandler, zeroAddress, 0n, zeroAddress],
  });
  const { logs } = await send(deployer, {
    address: contracts.safeProxyFactory,
    abi: safeAbi,
    functionName: "createProxyWithNonce",
    args: [contracts.safeSingleton, setup, 0n],
  });
  const [created] = parseEventLogs({ abi: safeAbi, eventName: "ProxyCreation", logs });
  if (created === undefined) throw new DeploymentError("Safe's factory created no Safe.");
  return created.args.proxy;
}

const safeAbi = parseAbi([
  "event ProxyCreation(address indexed proxy, address singleton)",
  "function createProxyWithNonce(address singleton, bytes initializer, uint256 saltNonce) returns (address proxy)",
  "function setup(address[] owners, uint256 threshold, address to, bytes data, address fallbackHandler, address paymentToken, uint256 payment, address paymentReceiver)",
]);
