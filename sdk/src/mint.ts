import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { encodeFunctionData, type Hash, zeroAddress } from "viem";
import { chainClients } from "./chain-clients.ts";
import type { Connection } from "./connection.ts";
import { contractOn } from "./directory.ts";
import { dollarScale, type Pay, payDollars } from "./pay-dollars.ts";
import { requireAccount, type SendOptions, sendCall } from "./send.ts";

export type MintOptions = SendOptions & {
  /** In token units, 1e-6 dollar. */
  amountToken: bigint;
  /** Absent: the primary chain. */
  chainId?: number;
  /** The recipient; absent: the account. */
  to?: `0x${string}`;
  pay?: Pay;
};

/** Pays dollars of the chain for as many tokens, one for one. Throws `ContractError`. */
export async function mint(connection: Connection, options: MintOptions): Promise<{ hash: Hash }> {
  const { amountToken, to = requireAccount(connection).address } = options;
  const clients = await chainClients(connection, options.chainId);
  const { entry } = clients;
  const minter = contractOn(connection, entry, "tokenMinter");
  const scale = await dollarScale(connection, clients);
  const permit = await payDollars(connection, clients, { spender: minter, amount: amountToken * scale }, options);
  const data =
    permit === null
      ? encodeFunctionData({ abi: tokenMinterAbi, functionName: "mint", args: [amountToken, to] })
      : encodeFunctionData({ abi: tokenMinterAbi, functionName: "mintWithPermit", args: [amountToken, to, permit] });
  const call = { abi: tokenMinterAbi, to: minter, data, moves: { from: zeroAddress, to, amountToken } };
  return sendCall(connection, { chainId: entry.chain_id, step: "mint", call }, options);
}
