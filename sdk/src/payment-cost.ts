import { tokenBridgeAbi } from "@inference/protocol/abi/token-bridge";
import { eidOf } from "./activate.ts";
import { chainClients } from "./chain-clients.ts";
import type { Connection } from "./connection.ts";
import { contractOn, readChain } from "./directory.ts";

/** The gas of a payment's transactions, rounded up: approval, mint, and a secondary chain's burn with its message. */
const GAS = { primary: 250_000n, secondary: 450_000n };

/**
 * About what a payment on a chain costs besides the dollars, in 1e-18 of its coin: gas at the present price, and
 * on a secondary chain the message to the primary one. Reads the chain.
 */
export async function paymentCostWei(connection: Connection, chainId: number): Promise<bigint> {
  const { entry, reader } = await chainClients(connection, chainId);
  const gasPrice = reader.getGasPrice();
  if (entry.role === "primary") return GAS.primary * (await gasPrice);
  const address = contractOn(connection, entry, "tokenBridge");
  const eid = eidOf(await readChain(connection));
  const message = reader.readContract({ address, abi: tokenBridgeAbi, functionName: "quote", args: [eid] });
  return GAS.secondary * (await gasPrice) + (await message);
}
