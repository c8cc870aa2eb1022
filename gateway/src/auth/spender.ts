import { agentPartition, identityPartition, type Partition } from "@inference/ledger/partition";
import type { SessionRow } from "@inference/ledger/tables";
import { type Address, lowerAddress } from "@inference/protocol/credential";

/** The spender of a capacity: a wallet, or an agent whose token the wallet owns. */
export type Spender = { address: Address; agentToken: Address | null };

export function spenderOf({ address, agentToken }: SessionRow): Spender {
  return { address: lowerAddress(address), agentToken: agentToken === null ? null : lowerAddress(agentToken) };
}

/** The partition with the spender's budget and sessions. */
export function spenderPartition({ address, agentToken }: Spender): Partition {
  return agentToken === null ? identityPartition(address) : agentPartition(agentToken);
}
