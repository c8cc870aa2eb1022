import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { createPublicClient, createWalletClient, erc20Abi, http, maxUint256, parseAbi } from "viem";

type Address = `0x${string}`;
type Seller = { rpcUrl: string; wallet: Address; contracts: Readonly<Record<string, Address>> };

/** Mints tokens and sells them in the market pool, so that they may be had below a dollar. */
export async function sellTokens({ rpcUrl, wallet, contracts }: Seller, amountToken: bigint): Promise<void> {
  const at = (name: string): Address => contracts[name] ?? "0x";
  const [dollar, token, minter, router] = [at("stablecoin"), at("inferenceToken"), at("tokenMinter"), at("swapRouter")];
  const writer = createWalletClient({ account: wallet, transport: http(rpcUrl) });
  const reader = createPublicClient({ transport: http(rpcUrl), pollingInterval: 20 });
  const sent = async (hash: Address) => {
    const { status } = await reader.waitForTransactionReceipt({ hash });
    if (status !== "success") throw new Error(`${hash} reverted`);
  };
  const approve = (address: Address, spender: Address) =>
    writer.writeContract({
      address,
      abi: erc20Abi,
      functionName: "approve",
      args: [spender, amountToken],
      chain: null,
    });
  await sent(await approve(dollar, minter));
  const mint = { address: minter, abi: tokenMinterAbi, functionName: "mint", args: [amountToken, wallet] } as const;
  await sent(await writer.writeContract({ ...mint, chain: null }));
  await sent(await approve(token, router));
  const swap = {
    ...{ tokenIn: token, tokenOut: dollar, fee: 500, recipient: wallet, deadline: maxUint256 },
    ...{ amountIn: amountToken, amountOutMinimum: 0n, sqrtPriceLimitX96: 0n },
  };
  // In the second after an estimate the pool stores one price more.
  const call = { address: router, abi, functionName: "exactInputSingle", args: [swap], gas: 500_000n } as const;
  await sent(await writer.writeContract({ ...call, chain: null }));
}

const abi = parseAbi([
  "function exactInputSingle(Swap swap) payable returns (uint256 amountOut)",
  "struct Swap { address tokenIn; address tokenOut; uint24 fee; address recipient; uint256 deadline; uint256 amountIn; uint256 amountOutMinimum; uint160 sqrtPriceLimitX96; }",
]);
