import { tokenToNanoUsd } from "@inference/protocol/money";
import { raised } from "./budget.ts";
import type { Activation, Commands, ReplyOf } from "./commands.ts";
import { deliver } from "./delivery.ts";
import type { Draft } from "./draft.ts";
import { accountPartition } from "./partition.ts";
import { gapInBatches, takeBatches } from "./posted.ts";
import type { CursorRow } from "./tables.ts";

/**
 * Activations, from the chain into accounts. The cursor and the deliveries are in one commit. A credit counts once for
 * its id, forever, so delivering the command at least once gives exactly one credit.
 */
type CommandOf<T extends keyof Commands> = Commands[T]["command"];

export function advance(draft: Draft, command: CommandOf<"advance">): ReplyOf<CommandOf<"advance">> {
  const stored = draft.get("cursor", "cursor");
  // From an older version that runs beside this one: the batches of these blocks would be missing.
  if (typeof stored?.lastBatchId === "number" && command.batches === undefined) {
    return { status: "gap", expected: "the batches of the blocks", got: "none, from an older version" };
  }
  // A cursor of an older version does not count batches. All is read again, and each credit still counts once.
  const cursor = stored?.lastBatchId === null && command.batches !== undefined ? undefined : stored;
  let lastActivationId = cursor?.lastActivationId ?? 0;
  let totalActivated = BigInt(cursor?.totalActivated ?? 0);
  if (command.block < (cursor?.block ?? 0)) {
    return { status: "gap", expected: `a block from ${cursor?.block}`, got: `block ${command.block}` };
  }
  if (cursor !== undefined && command.block === cursor.block) {
    if (command.blockHash !== cursor.blockHash) {
      return { status: "gap", expected: `block ${cursor.blockHash}`, got: `block ${command.blockHash}` };
    }
    if (isRepeated(cursor, command)) return { status: "advanced" };
  }
  for (const activation of command.activations) {
    const expected = `activation ${lastActivationId + 1}, ${totalActivated + BigInt(activation.amountToken)} in total`;
    lastActivationId += 1;
    totalActivated += BigInt(activation.amountToken);
    if (activation.id !== lastActivationId || BigInt(activation.totalActivated) !== totalActivated) {
      return { status: "gap", expected, got: `activation ${activation.id}, ${activation.totalActivated} in total` };
    }
  }
  const gap = command.batches === undefined ? undefined : gapInBatches(draft, cursor, command);
  if (gap !== undefined) return gap;

  // After this point the cursor moves.
  for (const activation of command.activations) deliverCredit(draft, command, activation);
  const { block, blockHash } = command;
  draft.put("cursor", {
    id: "cursor",
    block,
    blockHash,
    lastActivationId,
    totalActivated: totalActivated.toString(),
    ...takeBatches(draft, cursor, command),
  });
  return { status: "advanced" };
}

/** Whether the cursor is what this command made of it. */
function isRepeated(cursor: CursorRow, { activations, batches = [] }: CommandOf<"advance">): boolean {
  const [activation, batch] = [activations.at(-1), batches.at(-1)];
  if (activation === undefined && batch === undefined) return false;
  const hasActivation = activation === undefined || activation.id === cursor.lastActivationId;
  const isSameSum = activation === undefined || activation.totalActivated === cursor.totalActivated;
  const hasBatch = batch === undefined || batch.id === cursor.lastBatchId;
  return hasActivation && isSameSum && hasBatch;
}

export function credit(draft: Draft, command: CommandOf<"credit">): ReplyOf<CommandOf<"credit">> {
  const existing = draft.get("credit", command.id);
  if (existing !== undefined) {
    if (existing.amountNanoUsd === command.amountNanoUsd) return { status: "credited" };
    draft.alert(`credit ${command.id} is ${existing.amountNanoUsd}, and came again as ${command.amountNanoUsd}`);
    return { status: "conflict" };
  }
  const { id, amountNanoUsd, at, detail } = command;
  const balance = raised(draft, "balance", amountNanoUsd);
  if (balance === undefined) {
    draft.alert(`credit ${id} of ${amountNanoUsd} is more than the balance can take, and waits in the outbox`);
    return { status: "too_much" };
  }

  // After this point it is credited.
  draft.put("budget", balance);
  draft.put("credit", { id, amountNanoUsd, creditedAt: at, detail });
  return { status: "credited" };
}

function deliverCredit(draft: Draft, command: CommandOf<"advance">, activation: Activation): void {
  const id = `${command.chainId}:${activation.id}`;
  deliver(draft, id, accountPartition(activation.account as `0x${string}`), {
    type: "credit",
    id,
    at: command.at,
    amountNanoUsd: tokenToNanoUsd(BigInt(activation.amountToken)),
    detail: JSON.stringify({ block: activation.block, transaction: activation.transaction }),
  });
}
