import type { Address } from "@inference/protocol/credential";
import { type Hex, isAddressEqual, toFunctionSelector } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { SettlerAccount } from "./settlement-contract.ts";

/** No transaction of the settler has more gas (the protocol's limit, EIP-7825), and none pays more for it. */
export const MAX_TRANSACTION_GAS = 16_777_216n;
export const MAX_FEE_PER_GAS_WEI = 500_000_000_000n;

const SETTLE = toFunctionSelector("settle(uint32,bytes)");

/** An account that signs what a settler needs alone: chunks for one contract, and transfers of nothing to itself. */
export function guardedAccount(key: Hex, terms: { settlement: Address; chainId: number }): SettlerAccount {
  const account = privateKeyToAccount(key);
  return {
    address: account.address.toLowerCase() as Address,
    async signTransaction({ to, data, nonce, gas, maxFeePerGas, maxPriorityFeePerGas }) {
      const isChunk = isAddressEqual(to, terms.settlement) && data.startsWith(SETTLE);
      const isNothing = isAddressEqual(to, account.address) && data === "0x";
      if (!isChunk && !isNothing)
        throw new Error(`The settler's key signs no call of ${to} with ${data.slice(0, 10)}.`);
      if (gas > MAX_TRANSACTION_GAS || maxFeePerGas > MAX_FEE_PER_GAS_WEI) {
        throw new Error(`The settler's key does not pay ${maxFeePerGas} wei for each of ${gas} units of gas.`);
      }
      return account.signTransaction({
        ...{ type: "eip1559", chainId: terms.chainId, to, data, value: 0n, nonce, gas },
        ...{ maxFeePerGas, maxPriorityFeePerGas },
      });
    },
  };
}
