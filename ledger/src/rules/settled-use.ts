import type { Address } from "@inference/protocol/credential";
import type { RequestId } from "@inference/protocol/id";
import type { SettledUse } from "@inference/protocol/use-leaf";
import { dayNumber } from "@inference/protocol/window";
import type { UseRow } from "../rows/tables.ts";
import { positionOf } from "./position.ts";

/** A use as its leaf has it. */
export function settledUse({ id, receipt, costNanoUsd, admittedAt, server, offer, snapshot }: UseRow): SettledUse {
  const agent = server === null ? undefined : { token: server as Address, offerHash: (offer ?? "0x") as `0x${string}` };
  const place = { endsAtNanoUsd: positionOf(id), dayServed: dayNumber(admittedAt) };
  return { receipt: receipt as RequestId, costNanoUsd, ...place, snapshot, agent };
}
