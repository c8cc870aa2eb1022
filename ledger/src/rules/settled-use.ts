import type { Address } from "@inference/protocol/credential";
import type { RequestId } from "@inference/protocol/id";
import type { SettledUse } from "@inference/protocol/use-leaf";
import { dayNumber } from "@inference/protocol/window";
import type { PlacedUse } from "./bill.ts";

/** A use as its leaf has it. */
export function settledUse(use: PlacedUse): SettledUse {
  const { receipt, endsAtNanoUsd, costNanoUsd, admittedAt, server, offer, snapshot } = use;
  const agent = server === null ? undefined : { token: server as Address, offerHash: (offer ?? "0x") as `0x${string}` };
  const dayServed = dayNumber(admittedAt);
  return { receipt: receipt as RequestId, endsAtNanoUsd, costNanoUsd, dayServed, snapshot, agent };
}
