import { amounts } from "../http/money.ts";
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
    since: since === null ? null : new Date(since).toISOString(),
    block,
    due_at: dueAt === null ? null : new Date(dueAt).toISOString(),
  };
}
