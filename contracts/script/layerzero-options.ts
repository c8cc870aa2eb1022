/** Forms in which LayerZero takes verifiers and options. */
import { type Address, encodePacked, type Hex } from "viem";

/** The order in which the libraries require verifiers. */
export function ascending(addresses: readonly Address[]): Address[] {
  return addresses.toSorted((one, other) => (BigInt(one) < BigInt(other) ? -1 : 1));
}

/** Options of type 3 with one option: `gas` that the executor (1) spends on the delivery of a message, `lzReceive` (1). */
export function receiveOptions(gas: bigint): Hex {
  return encodePacked(["uint16", "uint8", "uint16", "uint8", "uint128"], [3, 1, 17, 1, gas]);
}
