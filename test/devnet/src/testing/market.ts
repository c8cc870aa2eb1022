import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { type Address, createPublicClient, createWalletClient, http, maxUint256, parseAbi } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import type { ReadyFile } from "../ready.ts";

/** The amount that brings the price back, in token units. */
const MUCH = 1_000_000_000n;
/** A dollar a token, as the pool keeps it. */
const PAR_X96 = 2n ** 96n;
/** In the second after an estimate the pool stores one price more. */
const SWAP_GAS = 500_000n;

/** Buys in the market of the token until one costs a dollar again, whatever other tests sold. */
export async function buyToPar(ready: ReadyFile, wallet: number): Promise<void> {
  const { at, reader, swap } = traderOf(ready, wallet);
  const [price] = await reader.readContract({ address: at("marketPool"), abi, functionName: "slot0" });
  if (price !== PAR_X96) await swap("stablecoin", "inferenceToken", { amount: MUCH, priceX96: PAR_X96 });
}

/** Mints tokens and sells them in the market, so that they may be had below a dollar. */
export async function sellTokens(ready: ReadyFile, wallet: number, amountToken: bigint): Promise<void> {
  const { at, approve, mint, swap } = traderOf(ready, wallet);
  await approve("stablecoin", at("tokenMinter"), amountToken);
  await mint(amountToken);
  await swap("inferenceToken", "stablecoin", { amount: amountToken, priceX96: 0n });
}

function traderOf(ready: ReadyFile, wallet: number) {
  const account = privateKeyToAccount(ready.wallets[wallet]?.privateKey ?? "0x");
  const { chainId, rpcUrl } = ready.chains[0] ?? { chainId: 0 };
  const options = { chain: { ...foundry, id: chainId }, transport: http(rpcUrl) };
  const reader = createPublicClient({ ...options, pollingInterval: 20, cacheTime: 0 });
  const writer = createWalletClient({ ...options, account });
  const at = (name: string): Address => ready.contracts.primary?.[name] ?? "0x";
  const sent = async (hash: Address): Promise<void> => {
    const { status } = await reader.waitForTransactionReceipt({ hash });
    if (status !== "success") throw new Error(`${hash} reverted`);
  };
  const approve = async (token: string, spender: Address, amount: bigint): Promise<void> => {
    const args = [spender, amount] as const;
    await sent(await writer.writeContract({ address: at(token), abi: stablecoinAbi, functionName: "approve", args }));
  };
  return {
    ...{ at, reader, approve },
    async mint(amount: bigint): Promise<void> {
      const args = [amount] as const;
      const minter = { address: at("tokenMinter"), abi: tokenMinterAbi } as const;
      await sent(await writer.writeContract({ ...minter, functionName: "mint", args }));
    },
    /** Until all of it is swapped, or the price is reached. */
    async swap(from: string, to: string, { amount, priceX96 }: { amount: bigint; priceX96: bigint }): Promise<void> {
      const router = at("swapRouter");
      await approve(from, router, amount);
      const order = {
        ...{ tokenIn: at(from), tokenOut: at(to), fee: 500, recipient: account.address, deadline: maxUint256 },
        ...{ amountIn: amount, amountOutMinimum: 0n, sqrtPriceLimitX96: priceX96 },
      };
      const call = { address: router, abi, functionName: "exactInputSingle", args: [order], gas: SWAP_GAS } as const;
      await sent(await writer.writeContract(call));
    },
  };
}

const abi = parseAbi([
  "function slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, uint8 feeProtocol, bool unlocked)",
  "function exactInputSingle(Swap swap) payable returns (uint256 amountOut)",
  "struct Swap { address tokenIn; address tokenOut; uint24 fee; address recipient; uint256 deadline; uint256 amountIn; uint256 amountOutMinimum; uint160 sqrtPriceLimitX96; }",
]);
