import {
  type Abi,
  BaseError,
  createWalletClient,
  custom,
  decodeErrorResult,
  formatEther,
  type Hash,
  type Hex,
  keccak256,
  parseTransaction,
  TransactionNotFoundError,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
} from "viem";
import { type ChainClients, chainClients, isContract } from "./chain-clients.ts";
import type { Account, Connection } from "./connection.ts";
import { refusalSentence } from "./contract-errors.ts";
import type { DirectoryChain } from "./directory.ts";
import { ClientError, ContractError } from "./errors.ts";
import { tooLittle } from "./funds.ts";
import { pause } from "./pause.ts";
import type { OnProgress, Step } from "./progress.ts";
import { sendByWallet, type WalletCall } from "./wallet-transaction.ts";

/** A call of a contract that costs gas. */
type ContractCall = Omit<WalletCall, "gas"> & {
  /** Decodes the errors of the contract and of the contracts that it calls. */
  abi: Abi;
  /** The possible rise of the gas between estimate and block; absent: none. */
  extraGas?: bigint;
};

export type SendOptions = { onProgress?: OnProgress | undefined; signal?: AbortSignal | undefined };

/** A signed transaction. Sending it again is harmless: a chain takes it once. */
export type SignedTransaction = { step: Step; chainId: number; hash: Hash; serialized: Hex };

/**
 * Simulates, signs and sends a transaction, and waits until it is in a block. Tells `signed` with the whole transaction
 * before sending. A program that stores it can `resume` after any interruption and never pays twice. A wallet that
 * sends by itself tells `asked` instead. Throws `ContractError` with the contract's error, decoded, `ClientError`
 * `insufficient_gas`, `wallet_rejected`, `wallet_failed`.
 */
export async function sendCall(
  connection: Connection,
  { chainId, step, call }: { chainId: number; step: Step; call: ContractCall },
  options: SendOptions = {},
): Promise<{ hash: Hash; receipt: TransactionReceipt }> {
  const account = requireAccount(connection);
  const clients = await chainClients(connection, chainId);
  const { chain, reader } = clients;
  requireCostWithin(connection, clients, call.value ?? 0n);
  const estimate = await simulate(clients, account, call);
  const gas = estimate === null || call.extraGas === undefined ? {} : { gas: estimate + call.extraGas };
  if (account.type === "wallet") {
    return sendByWallet(connection, { account, clients, step, call: { ...call, ...gas } }, options);
  }
  const writer = createWalletClient({ account, chain, transport: custom(reader) });
  const { to, data, value = 0n } = call;
  const prepared = await writer.prepareTransactionRequest({ to, data, value, ...gas });
  const { gas: limit = 0n, maxFeePerGas, gasPrice = 0n } = prepared as Fees;
  requireCostWithin(connection, clients, value + limit * (maxFeePerGas ?? gasPrice));
  options.signal?.throwIfAborted();
  const serialized = await writer.signTransaction(prepared as Parameters<typeof writer.signTransaction>[0]);
  const signed = { step, chainId, hash: keccak256(serialized), serialized };
  options.onProgress?.({ stage: "signed", ...signed });
  return sendSigned(connection, signed, options);
}

/**
 * The most that a transaction may cost in the chain's coin, in 1e-18 coin: its value, and its gas at the highest price.
 * The node names the prices of gas and of messages between chains, and the gateway may have named the node.
 */
export const MAX_COST_WEI = 10n ** 17n;

function requireCostWithin({ chains }: Connection, { entry }: ChainClients, costWei: bigint): void {
  const { chain_id: id } = entry;
  const limitWei = chains[id]?.maxCostWei ?? MAX_COST_WEI;
  if (costWei <= limitWei) return;
  const message =
    `The node of chain ${id} asks for up to ${coins(costWei)} of the chain's coin for this transaction, and the ` +
    `limit is ${coins(limitWei)}. Nothing was sent. If that is right, raise the limit (\`maxCostWei\` of the chain, \`--max-cost\` of the command).`;
  throw new ClientError("cost_too_high", message);
}

type Fees = { gas?: bigint; maxFeePerGas?: bigint; gasPrice?: bigint };

/** Sends a signed transaction if no node has it, and waits until it is in a block. */
export async function sendSigned(
  connection: Connection,
  { step, chainId, hash, serialized }: SignedTransaction,
  { onProgress, signal }: SendOptions = {},
): Promise<{ hash: Hash; receipt: TransactionReceipt }> {
  const { reader } = await chainClients(connection, chainId);
  const known = await reader.getTransaction({ hash }).catch(() => null);
  if (known === null) {
    await reader.sendRawTransaction({ serializedTransaction: serialized }).catch(async (error: unknown) => {
      // Another attempt may have been faster.
      if ((await reader.getTransaction({ hash }).catch(() => null)) !== null) return;
      throw new ContractError(`Chain ${chainId} refuses the transaction: ${shortOf(error)}`, { cause: error });
    });
  }
  onProgress?.({ stage: "sent", step, chainId, hash });
  const receipt = await receiptOf(connection, { chainId, hash, signal });
  if (receipt.status !== "success") {
    throw new ContractError(`The transaction ${hash} on chain ${chainId} reverted. Only its gas was paid.`, { hash });
  }
  onProgress?.({ stage: "confirmed", step, chainId, hash, block: receipt.blockNumber });
  return { hash, receipt };
}

/**
 * Waits until the block of a transaction is final, and returns its receipt there. Throws `ClientError`
 * `lost_transaction` if the chain has replaced the block and no longer knows the transaction.
 */
export async function untilFinal(
  connection: Connection,
  { chainId, hash, step }: { chainId: number; hash: Hash; step: Step },
  { onProgress, signal }: SendOptions = {},
): Promise<TransactionReceipt> {
  const receipt = await receiptOf(connection, { chainId, hash, signal, isFinal: true });
  onProgress?.({ stage: "final", step, chainId, hash, block: receipt.blockNumber });
  return receipt;
}

/** Polls of a node that no longer knows a transaction, until it counts as lost. */
const MAX_UNKNOWN = 30;

type AwaitedTransaction = { chainId: number; hash: Hash; signal: AbortSignal | undefined; isFinal?: boolean };

/** Waits until a transaction is in a block, or in a final one. */
async function receiptOf(
  connection: Connection,
  { chainId, hash, signal, isFinal = false }: AwaitedTransaction,
): Promise<TransactionReceipt> {
  const { reader } = await chainClients(connection, chainId);
  for (let unknown = 0; ; ) {
    // Read first: the receipt may change until its block is final.
    const last = isFinal ? (await reader.getBlock({ blockTag: "finalized" })).number : null;
    const receipt = await reader.getTransactionReceipt({ hash }).catch(() => null);
    if (receipt !== null && (last === null || receipt.blockNumber <= last)) return receipt;
    unknown = receipt !== null || (await isKnown(reader, hash)) ? 0 : unknown + 1;
    if (unknown > MAX_UNKNOWN) {
      const message = `Chain ${chainId} no longer knows the transaction ${hash}. Send it again, or check its nonce.`;
      throw new ClientError("lost_transaction", message);
    }
    await pause(connection.pollMs, signal);
  }
}

/** A node that does not answer is no sign that a transaction is lost. */
async function isKnown(reader: ChainClients["reader"], hash: Hash): Promise<boolean> {
  return reader.getTransaction({ hash }).then(
    () => true,
    (error: unknown) => !(error instanceof TransactionNotFoundError),
  );
}

/**
 * Whether a transaction of the account that its chain refuses can never be in a block: another one with its nonce is
 * final. Waits while another one is in a block that is not final. Nothing earlier proves it: of two nodes behind one
 * address, one may know the nonce while the other does not know the transaction yet.
 */
export async function isReplaced(
  connection: Connection,
  { chainId, hash, serialized }: SignedTransaction,
  { signal }: Pick<SendOptions, "signal"> = {},
): Promise<boolean> {
  const { reader } = await chainClients(connection, chainId);
  const { address } = requireAccount(connection);
  const { nonce = 0 } = parseTransaction(serialized);
  for (;;) {
    const isFinal = (await reader.getTransactionCount({ address, blockTag: "finalized" })) > nonce;
    const isUsed = isFinal || (await reader.getTransactionCount({ address })) > nonce;
    const isMined = await reader.getTransactionReceipt({ hash }).then(
      () => true,
      (error: unknown) => {
        if (error instanceof TransactionReceiptNotFoundError) return false;
        throw error;
      },
    );
    if (isMined || !isUsed) return false;
    if (isFinal) return true;
    await pause(connection.pollMs, signal);
  }
}

export function requireAccount({ account }: Connection): Account {
  if (account !== null) return account;
  throw new ClientError("no_account", "This needs an account that signs. Give the client one.");
}

/** The call's gas; null: somebody else pays it. */
async function simulate(clients: ChainClients, account: Account, call: ContractCall): Promise<bigint | null> {
  const { reader, entry } = clients;
  const { to, data, value = 0n, extraGas = 0n } = call;
  const balance = await reader.getBalance({ address: account.address });
  // Others may pay the gas of a smart account.
  const isPayer = !(await isContract(clients, account.address));
  if (balance < value || (isPayer && balance === 0n)) throw await tooLittleGas(clients, account, call, balance);
  try {
    await reader.call({ account: account.address, to, data, value });
  } catch (error) {
    throw decoded(error, call, entry);
  }
  if (!isPayer) return null;
  const gas = await reader.estimateGas({ account: account.address, to, data, value });
  const price = await reader.getGasPrice();
  if (balance < value + (gas + extraGas) * price) throw await tooLittleGas(clients, account, call, balance);
  return gas;
}

/** The gas to name if the node makes no estimate. Most of our transactions use less. */
const USUAL_GAS = 300_000n;
/** The balance that the estimate assumes: nodes refuse an account that cannot pay. */
const ENOUGH_WEI = 10n ** 24n;

async function tooLittleGas(
  { reader, entry }: ChainClients,
  { address }: Account,
  { to, data, value = 0n, extraGas = 0n }: ContractCall,
  balance: bigint,
): Promise<ClientError> {
  const stateOverride = [{ address, balance: ENOUGH_WEI }];
  const gas = await reader.estimateGas({ account: address, to, data, value, stateOverride }).catch(() => USUAL_GAS);
  const needed = roundedUp(value + (gas + extraGas) * (await reader.getGasPrice()));
  const message =
    `The account has ${coins(balance)} of the coin that pays for transactions on chain ${entry.chain_id}, and ` +
    `this one needs about ${coins(needed)}. Send as much to ${address} and try again. Nothing was sent.`;
  return new ClientError("insufficient_gas", message);
}

/** At most six decimals: no person reads eighteen. */
function coins(wei: bigint): string {
  const text = formatEther(wei).replace(/(\.\d{6})\d+$/, "$1");
  return wei > 0n && Number(text) === 0 ? "less than 0.000001" : text;
}

/** Rounds up to two digits, which leaves room for a higher price of gas. */
function roundedUp(wei: bigint): bigint {
  const unit = 10n ** BigInt(Math.max(String(wei).length - 2, 0));
  return (wei / unit + 1n) * unit;
}

function decoded(
  error: unknown,
  { abi, moves }: ContractCall,
  { chain_id: chainId, name }: DirectoryChain,
): ContractError {
  const data = revertDataOf(error);
  if (data === undefined) {
    return new ContractError(`Chain ${chainId} would refuse the transaction: ${shortOf(error)}`, { cause: error });
  }
  try {
    const { errorName, args = [] } = decodeErrorResult({ abi, data });
    if (errorName === "ERC20InsufficientBalance" && moves !== undefined) {
      const [owner, has, needs] = args as [`0x${string}`, bigint, bigint];
      const on = name ?? `chain ${chainId}`;
      return tooLittle({ owner, has, needs, decimals: TOKEN_DECIMALS, unit: "tokens", on }, error);
    }
    return new ContractError(refusalSentence(errorName, args), { errorName, args, cause: error });
  } catch {
    return new ContractError(`The contract would refuse, with ${data}. Nothing was sent.`, { cause: error });
  }
}

/** The inference token's decimals. A simulated call lacks no other token: dollars and stake are read before. */
const TOKEN_DECIMALS = 6;

function revertDataOf(error: unknown): Hex | undefined {
  let data: Hex | undefined;
  if (error instanceof BaseError) {
    error.walk((each) => {
      const found = (each as { data?: unknown }).data;
      const inner = typeof found === "object" && found !== null ? (found as { data?: unknown }).data : found;
      if (typeof inner === "string" && /^0x[0-9a-f]{8,}$/i.test(inner)) data = inner as Hex;
      return false;
    });
  }
  return data;
}

/** The node's message if there is one, else viem's. */
function shortOf(error: unknown): string {
  if (!(error instanceof BaseError)) return String(error);
  return error.details === "" ? error.shortMessage : error.details;
}
