import { send } from "@inference/contracts/deployer";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { maxUint256, parseAbi } from "viem";
import type { ReadyFile } from "../ready.ts";
import { walletOn } from "./wallet.ts";

/** The amount that brings the price back, in token units. */
const MUCH = 1_000_000_000n;
/** A dollar a token, as the pool keeps it. */
const PAR_X96 = 2n ** 96n;
/** In the second after an estimate the pool stores one price more. */
const SWAP_GAS = 500_000n;

/** Buys in the market of the token until one costs a dollar again, whatever other tests sold. */
export async function buyToPar(ready: ReadyFile, wallet: number): Promise<void> {
  const { at, reader } = walletOn(ready, "primary", wallet);
  const [price] = await reader.readContract({ address: at("marketPool"), abi, functionName: "slot0" });
  if (price !== PAR_X96) {
    await swap(ready, wallet, { from: "stablecoin", to: "inferenceToken", amountIn: MUCH, sqrtPriceLimitX96: PAR_X96 });
  }
}

/** Mints tokens and sells them in the market, so that they may be had below a dollar. */
export async function sellTokens(ready: ReadyFile, wallet: number, amountToken: bigint): Promise<void> {
  await walletOn(ready, "primary", wallet).mint(amountToken);
  await swap(ready, wallet, { from: "inferenceToken", to: "stablecoin", amountIn: amountToken });
}

type Swap = { from: string; to: string; amountIn: bigint; amountOutMinimum?: bigint; sqrtPriceLimitX96?: bigint };

/** Until all of it is swapped, or the price is reached. */
export async function swap(ready: ReadyFile, wallet: number, { from, to, amountIn, ...limits }: Swap): Promise<void> {
  const { account, at, payer } = walletOn(ready, "primary", wallet);
  const router = at("swapRouter");
  await send(payer, { address: at(from), abi: stablecoinAbi, functionName: "approve", args: [router, amountIn] });
  const order = {
    ...{ tokenIn: at(from), tokenOut: at(to), fee: 500, recipient: account, deadline: maxUint256, amountIn },
    ...{ amountOutMinimum: 0n, sqrtPriceLimitX96: 0n, ...limits },
  };
  await send(payer, { address: router, abi, functionName: "exactInputSingle", args: [order], gas: SWAP_GAS });
}

const abi = parseAbi([
  "function slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, uint8 feeProtocol, bool unlocked)",
  "function exactInputSingle(Swap swap) payable returns (uint256 amountOut)",
  "struct Swap { address tokenIn; address tokenOut; uint24 fee; address recipient; uint256 deadline; uint256 amountIn; uint256 amountOutMinimum; uint160 sqrtPriceLimitX96; }",
]);
