import {
  BaseError,
  type ContractFunctionArgs,
  ContractFunctionRevertedError,
  encodeFunctionData,
  formatUnits,
  type Hash,
  type Hex,
  isAddressEqual,
  maxUint256,
  parseAbi,
  toFunctionSelector,
  zeroAddress,
} from "viem";
import { chainClients } from "./chain-clients.ts";
import type { Connection } from "./connection.ts";
import { contractOn, type DirectoryChain, readChain } from "./directory.ts";
import { ClientError, ContractError } from "./errors.ts";
import { oncePerConnection } from "./once.ts";
import { dollarScale, type Pay, type Permit, payDollars } from "./pay-dollars.ts";
import { requireAccount, type SendOptions, sendCall } from "./send.ts";

/** The present cost of tokens in the market pool of the primary chain (Uniswap v3). */
export type MarketQuote = {
  amountToken: bigint;
  /** In token units, 1e-6 dollar, rounded up, with the pool's fee. More than `amountToken`: minting is cheaper. */
  costToken: bigint;
};

/** The maximum rise of the price between quote and purchase, in 0.01 %. */
export const MARKET_SLIPPAGE_BPS = 50n;

export function hasMarket({ contracts }: DirectoryChain): boolean {
  return ["marketPool", "swapRouter", "swapQuoter"].every((name) => Object.hasOwn(contracts, name));
}

/** Null: there is no market, or it has too few tokens. */
export async function quoteMarket(
  connection: Connection,
  { amountToken }: { amountToken: bigint },
): Promise<MarketQuote | null> {
  if (!hasMarket(await readChain(connection))) return null;
  const { reader } = await chainClients(connection);
  const { dollar, token, fee, quoter, scale } = await readMarket(connection);
  const order = { tokenIn: dollar, tokenOut: token, amount: amountToken, fee, sqrtPriceLimitX96: 0n };
  const call = { address: quoter, abi: quoterAbi, functionName: "quoteExactOutputSingle", args: [order] } as const;
  try {
    const { result } = await reader.simulateContract(call);
    return { amountToken, costToken: (result[0] + scale - 1n) / scale };
  } catch (error) {
    if (error instanceof BaseError && error.walk(isRevert) !== null) return null;
    throw error;
  }
}

const isRevert = (error: unknown): boolean => error instanceof ContractFunctionRevertedError;

/** The most to pay, in token units: the quote and `MARKET_SLIPPAGE_BPS`, and never more than minting costs. */
export function marketLimit({ amountToken, costToken }: MarketQuote): bigint {
  const limit = costToken + (costToken * MARKET_SLIPPAGE_BPS + 9_999n) / 10_000n;
  return limit < amountToken ? limit : amountToken;
}

export type BuyOptions = SendOptions & {
  /** The exact amount to buy, in token units, 1e-6 dollar. */
  amountToken: bigint;
  /** The most to pay, in the same units; absent: `marketLimit` of a quote now. */
  maxCostToken?: bigint;
  /** The recipient; absent: the account. */
  to?: `0x${string}`;
  pay?: Pay;
};

/**
 * Buys tokens in the market pool of the primary chain. The cost is the pool's price at execution. The purchase fails
 * above the limit. Throws `ClientError` `no_market`, `price_moved`, `ContractError`.
 */
export async function buy(connection: Connection, options: BuyOptions): Promise<{ hash: Hash }> {
  const { amountToken, to = requireAccount(connection).address } = options;
  const quote = await quoteMarket(connection, { amountToken });
  if (quote === null) throw new ClientError("no_market", "There is no market that sells that many tokens.");
  const maxCostToken = options.maxCostToken ?? marketLimit(quote);
  requireWithin(quote, maxCostToken);
  const clients = await chainClients(connection);
  const { entry, reader } = clients;
  const { router, pool, dollar, token, fee, scale } = await readMarket(connection);
  const amountDollar = maxCostToken * scale;
  const permit = await payDollars(connection, clients, { spender: router, amount: amountDollar }, options);
  const order = { tokenIn: dollar, tokenOut: token, fee, recipient: to, amountOut: amountToken };
  const code = (await reader.getCode({ address: router })) ?? "0x";
  const swap = swapData(code, { ...order, amountInMaximum: amountDollar, sqrtPriceLimitX96: 0n });
  const data = permit === null ? swap : withPermit(swap, { dollar, amountDollar, permit });
  const call = { abi: routerAbi, to: router, data, moves: { from: pool, to, amountToken }, extraGas: SWAP_GAS };
  try {
    return await sendCall(connection, { chainId: entry.chain_id, step: "buy", call }, options);
  } catch (error) {
    // The price may have moved while the wallet approved or signed.
    const isRefused = error instanceof ContractError && error.hash === null;
    const now = isRefused ? await quoteMarket(connection, { amountToken }) : null;
    if (now !== null) requireWithin(now, maxCostToken);
    throw error;
  }
}

/** In the second after an estimate the pool stores one price more, and others' swaps move the price over ticks. */
const SWAP_GAS = 100_000n;

function requireWithin({ amountToken, costToken }: MarketQuote, maxCostToken: bigint): void {
  if (costToken <= maxCostToken) return;
  const [tokens, cost, limit] = [amountToken, costToken, maxCostToken].map((amount) => formatUnits(amount, 6));
  const message = `The market asks $${cost} for ${tokens} tokens, and the limit is $${limit}. Nothing was sent.`;
  throw new ClientError("price_moved", message);
}

type Market = Readonly<Record<"pool" | "router" | "quoter" | "dollar" | "token", `0x${string}`>> & {
  /** In hundredths of a basis point. */
  fee: number;
  /** The dollar's own units in a token unit. */
  scale: bigint;
};

/** The market. Checks that router and quoter have this pool, which trades token and dollar. */
const readMarket = oncePerConnection(async (connection: Connection): Promise<Market> => {
  const clients = await chainClients(connection);
  const { entry, reader } = clients;
  if (!hasMarket(entry)) throw new ClientError("no_market", "The gateway names no market of the token.");
  const at = (name: string): `0x${string}` => contractOn(connection, entry, name);
  const [pool, router, quoter] = [at("marketPool"), at("swapRouter"), at("swapQuoter")];
  const [dollar, token] = [at("stablecoin"), at("inferenceToken")];
  const factoryOf = (address: `0x${string}`) =>
    reader.readContract({ address, abi: routerAbi, functionName: "factory" });
  const [fee, factory, quoterFactory, scale] = await Promise.all([
    reader.readContract({ address: pool, abi: poolAbi, functionName: "fee" }),
    ...([factoryOf(router), factoryOf(quoter)] as const),
    dollarScale(connection, clients),
  ]);
  const named = { address: factory, abi: factoryAbi, functionName: "getPool", args: [dollar, token, fee] } as const;
  const used = await reader.readContract(named);
  if (used !== zeroAddress && isAddressEqual(used, pool) && isAddressEqual(factory, quoterFactory)) {
    return { pool, router, quoter, dollar, token, fee, scale };
  }
  throw new ClientError("no_market", `The market that the gateway names, ${pool}, is not one of token and dollar.`);
});

type Order = ContractFunctionArgs<typeof secondRouterAbi, "payable", "exactOutputSingle">[0];

/**
 * Uniswap has two routers, and a chain may have either. No deadline: the limit of the price holds as long as the
 * transaction may wait, and the owners of a Safe may take days.
 */
function swapData(code: Hex, order: Order): Hex {
  const functionName = "exactOutputSingle";
  if (code.includes(toFunctionSelector(firstRouterAbi[0]).slice(2))) {
    return encodeFunctionData({ abi: firstRouterAbi, functionName, args: [{ ...order, deadline: maxUint256 }] });
  }
  return encodeFunctionData({ abi: secondRouterAbi, functionName, args: [order] });
}

function withPermit(
  swap: Hex,
  { dollar, amountDollar, permit: { deadline, v, r, s } }: { dollar: Hex; amountDollar: bigint; permit: Permit },
): Hex {
  // `IfNecessary`: somebody else may have used the permit already.
  const args = [dollar, amountDollar, deadline, v, r, s] as const;
  const permitted = encodeFunctionData({ abi: routerAbi, functionName: "selfPermitIfNecessary", args });
  return encodeFunctionData({ abi: routerAbi, functionName: "multicall", args: [[permitted, swap]] });
}

const poolAbi = parseAbi(["function fee() view returns (uint24)"]);
const factoryAbi = parseAbi(["function getPool(address one, address other, uint24 fee) view returns (address)"]);
const quoterAbi = parseAbi([
  "struct Order { address tokenIn; address tokenOut; uint256 amount; uint24 fee; uint160 sqrtPriceLimitX96; }",
  "function quoteExactOutputSingle(Order order) returns (uint256 amountIn, uint160, uint32, uint256)",
]);
const routerAbi = parseAbi([
  "function factory() view returns (address)",
  "function multicall(bytes[] calls) payable returns (bytes[])",
  "function selfPermitIfNecessary(address token, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) payable",
]);
/** SwapRouter. */
const firstRouterAbi = parseAbi([
  "function exactOutputSingle(Swap swap) payable returns (uint256 amountIn)",
  "struct Swap { address tokenIn; address tokenOut; uint24 fee; address recipient; uint256 deadline; uint256 amountOut; uint256 amountInMaximum; uint160 sqrtPriceLimitX96; }",
]);
/** SwapRouter02. */
const secondRouterAbi = parseAbi([
  "function exactOutputSingle(Swap swap) payable returns (uint256 amountIn)",
  "struct Swap { address tokenIn; address tokenOut; uint24 fee; address recipient; uint256 amountOut; uint256 amountInMaximum; uint160 sqrtPriceLimitX96; }",
]);
