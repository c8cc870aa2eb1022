import type { Address } from "@inference/protocol/credential";
import type { RequestId } from "@inference/protocol/id";
import type { SettledUse } from "@inference/protocol/use-leaf";
import { dayNumber } from "@inference/protocol/window";
import type { UseRow } from "./tables.ts";

/** A use of the journal as its leaf in a batch has it. */
export function settledUse(batch: number, { id, account, chargeNanoUsd, admittedAt }: UseRow): SettledUse {
  return {
    batch,
    account: account as Address,
    receipt: id as RequestId,
    costNanoUsd: chargeNanoUsd,
    dayServed: dayNumber(admittedAt),
  };
}
