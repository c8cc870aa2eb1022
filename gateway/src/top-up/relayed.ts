import type { Address } from "@inference/protocol/credential";
import { fail } from "@inference/protocol/errors";
import type { Relayed } from "@inference/protocol/wire/top-up";
import { activationsOnTheirWay } from "../activations/on-their-way.ts";
import type { Gateway } from "../gateway.ts";
import type { RelayClient } from "./relay-client.ts";

/** Throws 404 without a relay. */
export function requireRelay({ relay }: Gateway): RelayClient {
  const message = "This gateway has no relay: pay from a wallet with a coin for gas, as GET /api/v1/contracts says.";
  return relay ?? fail("not_found", message);
}

/** The state as the account sees it: a confirmed payment whose activation this gateway has in the ledger is `credited`. */
export async function withCredit(gateway: Gateway, payment: Relayed): Promise<Relayed> {
  if (payment.state !== "confirmed" || payment.block === null) return payment;
  return (await isCredited(gateway, payment)) ? { ...payment, state: "credited" } : payment;
}

async function isCredited(gateway: Gateway, { chain_id, account, transaction, block }: Relayed): Promise<boolean> {
  const found = await activationsOnTheirWay(gateway, account as Address);
  const own = found?.find((activation) => activation.transaction === transaction);
  if (own !== undefined) return own.stage === "credited";
  // An activation that is not on its way is in the ledger once the ledger is past its block.
  const { block: booked } = gateway.environment.chain.following();
  const isPrimary = chain_id === gateway.config.settlement.chainId;
  return found !== null && isPrimary && booked !== null && block !== null && block <= booked;
}
