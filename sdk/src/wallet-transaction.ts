import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { type Address, type Hash, isAddressEqual, parseEventLogs, type TransactionReceipt } from "viem";
import { type ChainClients, chainClients } from "./chain-clients.ts";
import type { Connection, WalletAccount } from "./connection.ts";
import { contractOn } from "./directory.ts";
import { ClientError, ContractError, fromWallet } from "./errors.ts";
import { pause } from "./pause.ts";
import type { AskedTransaction, OnProgress, Step } from "./progress.ts";
import { searchFrom } from "./search.ts";

export type WalletCall = {
  to: Address;
  data: `0x${string}`;
  /** In wei. */
  value?: bigint;
  gas?: bigint;
  /** The tokens that the call makes or burns. A search finds a wallet's transaction by them. */
  moves?: { from: Address; to: Address; amountToken: bigint };
  /** The dollars that the call approves, for the same search. The amount is in the dollar's own units. */
  allows?: { dollar: Address; spender: Address; amountDollar: bigint };
};

type Options = { onProgress?: OnProgress | undefined; signal?: AbortSignal | undefined };

/** Asks the wallet to send, and waits until the transaction is in a block. Tells `asked` before. */
export async function sendByWallet(
  connection: Connection,
  given: { account: WalletAccount; clients: ChainClients; step: Step; call: WalletCall },
  options: Options,
): Promise<{ hash: Hash; receipt: TransactionReceipt }> {
  const { account, clients, step, call } = given;
  const { to, data, value = 0n, gas, moves, allows } = call;
  const chainId = clients.entry.chain_id;
  const asked: AskedTransaction = {
    step,
    chainId,
    fromBlock: Number(await clients.reader.getBlockNumber()),
    moves: moves === undefined ? null : { ...moves, amountToken: String(moves.amountToken) },
    allows: allows === undefined ? null : { ...allows, amountDollar: String(allows.amountDollar) },
  };
  // After an abort the wallet must show no new request, because nothing would be stored for it.
  options.signal?.throwIfAborted();
  options.onProgress?.({ stage: "asked", ...asked });
  const hash = await fromWallet(
    account.sendTransaction({ chainId, to, data, value, ...(gas === undefined ? {} : { gas }) }),
  );
  return followAsked(connection, { ...asked, hash }, options);
}

/**
 * Waits until a wallet's transaction is in a block. The transaction is found by its hash, or by the tokens or dollars
 * that it moves or approves: a wallet may replace a transaction, and a wallet with several owners names another hash.
 * Waits without end for a transaction that the chain does not show. Throws `ContractError` if it failed, `ClientError`
 * `lost_transaction` if nothing tells it apart.
 */
export async function followAsked(
  connection: Connection,
  asked: AskedTransaction,
  { onProgress, signal }: Options = {},
): Promise<{ hash: Hash; receipt: TransactionReceipt }> {
  const { step, chainId } = asked;
  const clients = await chainClients(connection, chainId);
  if (asked.hash === undefined && asked.moves === null && (asked.allows ?? null) === null) {
    const message = "Nothing tells whether the wallet sent this transaction. Start the step again.";
    throw new ClientError("lost_transaction", message);
  }
  let { hash } = asked;
  if (hash !== undefined) onProgress?.({ stage: "sent", step, chainId, hash });
  const findDone = doneSearch(connection, clients, asked);
  for (let polls = 0; ; polls += 1) {
    const receipt = hash === undefined ? null : await receiptOf(clients, hash);
    if (receipt !== null && hash !== undefined) {
      requireMoved(connection, clients, asked, receipt);
      onProgress?.({ stage: "confirmed", step, chainId, hash, block: receipt.blockNumber });
      return { hash, receipt };
    }
    const found = polls % POLLS_BETWEEN_SEARCHES === 0 ? await findDone() : null;
    if (found === null) await pause(connection.pollMs, signal);
    else if (found !== hash) onProgress?.({ stage: "sent", step, chainId, hash: found });
    hash = found ?? hash;
  }
}

const POLLS_BETWEEN_SEARCHES = 3;

async function receiptOf({ reader }: ChainClients, hash: Hash): Promise<TransactionReceipt | null> {
  return reader.getTransactionReceipt({ hash }).catch(() => null);
}

/**
 * Searches the chain once for a wallet's transaction. Null: the chain does not show it, and its request may still be
 * open in the wallet.
 */
export async function findAsked(connection: Connection, asked: AskedTransaction): Promise<Hash | null> {
  const clients = await chainClients(connection, asked.chainId);
  const { hash } = asked;
  if (hash !== undefined && (await receiptOf(clients, hash)) !== null) return hash;
  return doneSearch(connection, clients, asked)();
}

function doneSearch(
  connection: Connection,
  { entry, reader }: ChainClients,
  { moves, allows, fromBlock: before }: AskedTransaction,
): () => Promise<Hash | null> {
  const fromBlock = BigInt(before) + 1n;
  if (moves !== null) {
    const { from, to, amountToken } = moves;
    const event = { abi: inferenceTokenAbi, eventName: "Transfer", args: { from, to }, strict: true } as const;
    const address = contractOn(connection, entry, "inferenceToken");
    const search = searchFrom(reader, fromBlock, (range) => reader.getContractEvents({ ...event, ...range, address }));
    return async () => (await search()).find(({ args }) => args.value === BigInt(amountToken))?.transactionHash ?? null;
  }
  const owner = connection.account?.address;
  if (allows == null || owner === undefined) return async () => null;
  const { dollar: address, spender, amountDollar } = allows;
  const event = { abi: stablecoinAbi, eventName: "Approval", args: { owner, spender }, strict: true } as const;
  const search = searchFrom(reader, fromBlock, (range) => reader.getContractEvents({ ...event, ...range, address }));
  // A wallet lets its owner approve more.
  return async () => (await search()).find(({ args }) => args.value >= BigInt(amountDollar))?.transactionHash ?? null;
}

/** A smart account's transaction can succeed while its inner call failed. */
function requireMoved(
  connection: Connection,
  { entry }: ChainClients,
  { moves, chainId }: AskedTransaction,
  { status, logs, transactionHash: hash }: TransactionReceipt,
): void {
  const token = contractOn(connection, entry, "inferenceToken");
  const isMoved =
    moves === null ||
    parseEventLogs({ abi: inferenceTokenAbi, eventName: "Transfer", logs }).some(
      ({ address, args }) =>
        isAddressEqual(address, token) &&
        isAddressEqual(args.from, moves.from) &&
        isAddressEqual(args.to, moves.to) &&
        args.value === BigInt(moves.amountToken),
    );
  if (status === "success" && isMoved) return;
  const why = status === "success" ? "moved no tokens" : "reverted";
  throw new ContractError(`The transaction ${hash} on chain ${chainId} ${why}. Only its gas was paid.`, { hash });
}
