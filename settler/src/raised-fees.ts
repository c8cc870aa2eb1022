import { type Hex, parseTransaction } from "viem";
import type { Fees } from "./settlement-contract.ts";

/** The largest fee as a multiple of the chain's. A higher fee would not get the transaction into a block. */
const MAX_RAISE = 4n;

/** The fees of a replacement of a transaction; undefined above the limit. */
export function raisedFees(raw: Hex, current: Fees, maxFeePerGasWei: bigint): Fees | undefined {
  const before = parseTransaction(raw);
  const fees = {
    maxFeePerGas: larger(current.maxFeePerGas, raised(before.maxFeePerGas)),
    maxPriorityFeePerGas: larger(current.maxPriorityFeePerGas, raised(before.maxPriorityFeePerGas)),
  };
  const isTooMuch = fees.maxFeePerGas > maxFeePerGasWei || fees.maxFeePerGas > MAX_RAISE * current.maxFeePerGas;
  return isTooMuch ? undefined : fees;
}

/** Nodes replace a transaction by one that pays a tenth more. */
function raised(feeWei = 0n): bigint {
  return (feeWei * 5n) / 4n + 1n;
}

function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
