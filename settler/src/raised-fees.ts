import { type Hex, parseTransaction } from "viem";
import type { Fees } from "./settlement-contract.ts";

/** Above so many times of what the chain asks, the fee is not the reason that a transaction is in no block. */
const MAX_RAISE = 4n;

/** What a replacement of a transaction pays; undefined if that is more than it should. */
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
