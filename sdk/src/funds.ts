import { type Address, erc20Abi, formatUnits } from "viem";
import type { ChainClients } from "./chain-clients.ts";
import { ContractError } from "./errors.ts";

/**
 * Reads before anything is signed whether an account has enough of a token. Throws `ContractError`
 * `ERC20InsufficientBalance`, with both amounts in whole tokens in the message.
 *
 * @param given.amount In the token's own units.
 * @param given.sign Before the amounts; absent: the token's symbol follows them.
 */
export async function requireFunds(
  { reader, entry }: ChainClients,
  { owner, token, amount, sign }: { owner: Address; token: Address; amount: bigint; sign?: "$" },
): Promise<void> {
  const contract = { address: token, abi: erc20Abi } as const;
  const [has, decimals] = await Promise.all([
    reader.readContract({ ...contract, functionName: "balanceOf", args: [owner] }),
    reader.readContract({ ...contract, functionName: "decimals" }),
  ]);
  if (has >= amount) return;
  const unit = sign ?? (await reader.readContract({ ...contract, functionName: "symbol" }));
  throw tooLittle({ owner, has, needs: amount, decimals, unit, on: entry.name ?? `chain ${entry.chain_id}` });
}

type Shortage = { owner: Address; has: bigint; needs: bigint; decimals: number; unit: string; on: string };

export function tooLittle({ owner, has, needs, decimals, unit, on }: Shortage, cause?: unknown): ContractError {
  const shown = (amount: bigint): string => shownAmount(amount, decimals, unit);
  const message = `You have ${shown(has)} on ${on}, and this needs ${shown(needs)}. Nothing was sent.`;
  return new ContractError(message, { errorName: "ERC20InsufficientBalance", args: [owner, has, needs], cause });
}

/** An amount for people. @param unit `$` stands before it, a symbol after it. */
export function shownAmount(amount: bigint, decimals: number, unit: string): string {
  const [whole = "", fraction = ""] = formatUnits(amount, decimals).split(".");
  const grouped = BigInt(whole).toLocaleString("en-US");
  if (unit === "$") return `$${grouped}.${fraction.padEnd(2, "0")}`;
  return `${grouped}${fraction === "" ? "" : `.${fraction}`} ${unit}`;
}
