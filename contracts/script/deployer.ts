/** The account that sends a deployment's transactions, with the clients to deploy and to read. */
import {
  type Abi,
  type Account,
  type Address,
  type Chain,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionParameters,
  createPublicClient,
  createWalletClient,
  defineChain,
  getAddress,
  type Hex,
  type HttpTransport,
  http,
  type PublicClient,
  type TransactionReceipt,
  type WalletClient,
  type WriteContractParameters,
} from "viem";
import { LOCAL_CHAIN_IDS } from "./development-keys.ts";
import { receiptOf } from "./receipt.ts";

export interface Deployer {
  readonly chainId: number;
  readonly account: Account;
  readonly reader: PublicClient<HttpTransport, Chain>;
  readonly writer: WalletClient<HttpTransport, Chain, Account>;
}

/** A check of a chain reads hundreds of values at once. Nodes take ten in a request. */
export const BATCHED = { batch: { batchSize: 10 } } as const;

/** Connects to the chain at `rpcUrl`, without a check of its id. */
export async function connectDeployer(options: { rpcUrl: string; account: Account }): Promise<Deployer> {
  const transport = http(options.rpcUrl);
  const chainId = await createPublicClient({ transport }).getChainId();
  const chain = defineChain({
    id: chainId,
    name: `chain ${chainId}`,
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [options.rpcUrl] } },
  });
  const pollingInterval = LOCAL_CHAIN_IDS.includes(chainId) ? 5 : 1_000;
  const account = options.account;
  return {
    chainId,
    account,
    reader: createPublicClient({ chain, transport: http(options.rpcUrl, BATCHED), pollingInterval, cacheTime: 0 }),
    writer: createWalletClient({ account, chain, transport }),
  };
}

/**
 * Waits until the transaction is in a block. Throws {@link DeploymentError} if it reverted; `step` names it in the
 * error.
 */
export async function confirm(deployer: Deployer, step: string, hash: Hex): Promise<TransactionReceipt> {
  const receipt = await receiptOf(deployer.reader, hash);
  if (receipt.status !== "success") throw new DeploymentError(`${step} reverted in transaction ${hash}.`);
  return receipt;
}

type Write = "nonpayable" | "payable";

/** Sends a call and waits until it is in a block. Throws {@link DeploymentError} if it reverted. */
export async function send<
  const A extends Abi,
  N extends ContractFunctionName<A, Write>,
  const P extends ContractFunctionArgs<A, Write, N>,
>(
  deployer: Deployer,
  call: ContractFunctionParameters<A, Write, N, P> & { gas?: bigint },
): Promise<TransactionReceipt> {
  const hash = await deployer.writer.writeContract(call as unknown as WriteContractParameters);
  return confirm(deployer, call.functionName, hash);
}

/** Deploys creation code at the address of the deployer's next nonce. */
export async function createContract(deployer: Deployer, step: string, data: Hex): Promise<Address> {
  const receipt = await confirm(deployer, step, await deployer.writer.sendTransaction({ data }));
  if (receipt.contractAddress == null) throw new DeploymentError(`${step} created no contract.`);
  return getAddress(receipt.contractAddress);
}

export class DeploymentError extends Error {
  override readonly name = "DeploymentError";
}
