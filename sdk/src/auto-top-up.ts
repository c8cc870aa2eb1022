import { standingOrdersAbi } from "@inference/protocol/abi/standing-orders";
import { formatDecimal } from "@inference/protocol/money";
import { ownValue } from "@inference/protocol/own-value";
import type { RelayQuote } from "@inference/protocol/wire/top-up";
import { type Address, encodeFunctionData, erc20Abi, type Hash, zeroAddress } from "viem";
import { type ChainClients, chainClients } from "./chain-clients.ts";
import type { Connection } from "./connection.ts";
import { contractOn, readDirectory, readEach, type Unread } from "./directory.ts";
import { ClientError } from "./errors.ts";
import { approve, dollarScale } from "./pay-dollars.ts";
import { requireAccount, type SendOptions, sendCall } from "./send.ts";
import { readQuotes } from "./top-up.ts";

/**
 * An owner's standing order on a chain: the puller may turn at most `maxPerDayToken` of the owner's dollars a UTC day
 * into the owner's balance, until the order expires or its owner ends it. Amounts are in token units, 1e-6 dollar.
 */
export type AutoTopUp = {
  chainId: number;
  name: string | null;
  /** Null: no order, or it has expired. */
  order: { puller: Address; maxPerDayToken: bigint; pulledTodayToken: bigint; expiresAt: string } | null;
  /** What the contract may take in all. */
  allowanceToken: bigint;
  /** The terms of the operator's keeper; null: it pulls nothing here, or does not answer. */
  terms: PullTerms | null;
};
/** The keeper pulls while the credit on chain is below `belowToken`, at least `leastToken`. */
export type PullTerms = { puller: Address; belowToken: bigint; leastToken: bigint };

/** Whether the operator's keeper pulls by the order, as far as its terms are known. */
export function pullsBy(order: { puller: string }, terms: { puller: string } | null): boolean {
  return terms === null || terms.puller.toLowerCase() === order.puller.toLowerCase();
}

const DAY_S = 86_400n;

/** The orders of an address on every chain that has the contract, or why a chain cannot be read. */
export async function readAutoTopUps(connection: Connection, address: Address): Promise<(AutoTopUp | Unread)[]> {
  const { chains } = await readDirectory(connection);
  // The chain alone tells the order.
  const quotes = await readQuotes(connection).catch(() => []);
  const having = chains.filter(({ contracts }) => ownValue(contracts, "standingOrders") !== undefined);
  return readEach(having, ({ chain_id: chainId }) => readAutoTopUp(connection, { address, chainId, quotes }));
}

async function readAutoTopUp(
  connection: Connection,
  { address, chainId, quotes }: { address: Address; chainId: number; quotes: readonly RelayQuote[] },
): Promise<AutoTopUp> {
  const clients = await chainClients(connection, chainId);
  const { entry, reader } = clients;
  const orders = ordersOn(connection, clients);
  const dollar = { address: contractOn(connection, entry, "stablecoin"), abi: erc20Abi } as const;
  const [order, { timestamp }, scale, allowance] = await Promise.all([
    reader.readContract({ ...orders, functionName: "orderOf", args: [address] }),
    reader.getBlock(),
    dollarScale(connection, clients),
    reader.readContract({ ...dollar, functionName: "allowance", args: [address, orders.address] }),
  ]);
  const { puller, expiresAt, maxPerDay: maxPerDayToken, pulled, day } = order;
  const pulledTodayToken = BigInt(day) === timestamp / DAY_S ? pulled : 0n;
  const isOpen = puller !== zeroAddress && timestamp < expiresAt;
  return {
    ...{ chainId, name: entry.name, allowanceToken: allowance / scale, terms: termsOf(quotes, chainId) },
    order: isOpen ? { puller, maxPerDayToken, pulledTodayToken, expiresAt: timeOf(expiresAt) } : null,
  };
}

export type AutoTopUpOptions = SendOptions & {
  /** Where the dollars are; absent: the primary chain. */
  chainId?: number | undefined;
  maxPerDayToken: bigint;
  /** The order's end. */
  expiresAt: Date;
};

/**
 * Sets the account's order for the operator's keeper, in place of an earlier one. Allows the contract as much as the
 * order can pull until its end. An earlier, larger allowance stays; the order bounds what is pulled of it. Throws
 * `ClientError` `unknown_chain` where nobody pulls, `order_too_small`, `order_over`.
 */
export async function setAutoTopUp(connection: Connection, options: AutoTopUpOptions): Promise<{ hash: Hash }> {
  const { maxPerDayToken, expiresAt } = options;
  requireAccount(connection);
  const clients = await chainClients(connection, options.chainId);
  const { chain_id: chainId } = clients.entry;
  const terms = termsOf(await readQuotes(connection), chainId);
  if (terms === null) {
    throw new ClientError("unknown_chain", `The operator's keeper pulls no dollars on chain ${chainId}.`);
  }
  if (maxPerDayToken < terms.leastToken) {
    const least = formatDecimal(terms.leastToken, 6);
    throw new ClientError("order_too_small", `The keeper pulls at least $${least} at once. Allow that much a day.`);
  }
  const orders = ordersOn(connection, clients);
  const expires = BigInt(Math.floor(expiresAt.getTime() / 1_000));
  const { timestamp } = await clients.reader.getBlock();
  if (expires <= timestamp) {
    throw new ClientError("order_over", "The order's end has passed by the chain's clock. Name a later one.");
  }
  const days = (expires - 1n) / DAY_S - timestamp / DAY_S + 1n;
  const amount = maxPerDayToken * days * (await dollarScale(connection, clients));
  const token = contractOn(connection, clients.entry, "stablecoin");
  await approve(connection, { clients, token, spender: orders.address, amount }, options);
  const args = [terms.puller, maxPerDayToken, expires] as const;
  const data = encodeFunctionData({ abi: orders.abi, functionName: "set", args });
  const call = { to: orders.address, abi: orders.abi, data };
  return sendCall(connection, { chainId, step: "order", call }, options);
}

/** Ends the account's order at once. The allowance stays, and pulls nothing without an order. */
export async function endAutoTopUp(
  connection: Connection,
  { chainId, ...options }: SendOptions & { chainId?: number | undefined } = {},
): Promise<{ hash: Hash }> {
  const clients = await chainClients(connection, chainId);
  const { address: to, abi } = ordersOn(connection, clients);
  const call = { to, abi, data: encodeFunctionData({ abi, functionName: "end" }) };
  return sendCall(connection, { chainId: clients.entry.chain_id, step: "endOrder", call }, options);
}

function termsOf(quotes: readonly RelayQuote[], chainId: number): PullTerms | null {
  const terms = quotes.find(({ chain_id: id }) => id === chainId)?.standing_order ?? null;
  if (terms === null) return null;
  const { puller, below_token: below, least_token: least } = terms;
  return { puller: puller as Address, belowToken: BigInt(below), leastToken: BigInt(least) };
}

function ordersOn(connection: Connection, { entry }: ChainClients) {
  return { address: contractOn(connection, entry, "standingOrders"), abi: standingOrdersAbi } as const;
}

/** An order may name an end beyond the dates that JavaScript has. */
function timeOf(seconds: bigint): string {
  return new Date(Math.min(Number(seconds) * 1_000, 8.64e15)).toISOString();
}
