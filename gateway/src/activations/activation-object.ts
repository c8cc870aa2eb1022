import { amounts } from "../http/money.ts";
import { isoOrNull } from "../http/time.ts";
import type { ActivationOnItsWay } from "./on-their-way.ts";

/** An activation on its way, as the API shows it. */
export function toActivationObject(activation: ActivationOnItsWay) {
  const { sourceChainId, guid, amountNanoUsd, stage, waitsFor, transaction, since, block, dueAt } = activation;
  return {
    source_chain_id: sourceChainId,
    guid,
    ...amounts({ amount: amountNanoUsd }),
    stage,
    waits_for: waitsFor,
    transaction,
    since: isoOrNull(since),
    block,
    due_at: isoOrNull(dueAt),
  };
}
