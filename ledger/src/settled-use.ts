import type { Address } from "@inference/protocol/credential";
import type { RequestId } from "@inference/protocol/id";
import type { SettledUse } from "@inference/protocol/use-leaf";
import { dayNumber } from "@inference/protocol/window";
import type { UseRow } from "./tables.ts";

/** A use of the journal as its leaf in a batch has it. */
export function settledUse(batch: number, use: UseRow): SettledUse {
  const { id, account, chargeNanoUsd, admittedAt, server, offer } = use;
  return {
    batch,
    account: account as Address,
    receipt: id as RequestId,
    costNanoUsd: chargeNanoUsd,
    dayServed: dayNumber(admittedAt),
    agent: offer === null ? undefined : { token: server as Address, offerHash: offer as `0x${string}` },
  };
}
