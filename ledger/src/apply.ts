import { assertNanoUsd, isNanoUsd } from "@inference/protocol/money";
import { buildBatch, dropBatch, openBatch, rejectBatch, settleBatch, signBatch } from "./batch.ts";
import { closeBlock, openBlock } from "./block.ts";
import { carry, followCeiling, reserveCeiling, setCeiling } from "./ceiling.ts";
import type { Command, Reply, ReplyOf } from "./commands.ts";
import { advance, credit } from "./credit.ts";
import type { Delivery } from "./delivery.ts";
import { type Draft, makeDraft } from "./draft.ts";
import { follow } from "./follower.ts";
import { forget } from "./forget.ts";
import { checkpoint, inquire, orphan, reassign, release, reserve, settle } from "./hold.ts";
import { addShard, gatherUses, journal, returnUses, setAsideUses } from "./journal.ts";
import { createKey, revokeKey, rollKey, setKeyTerms, updateKey } from "./key.ts";
import { endOffer, reserveOffer, setOffer } from "./offer.ts";
import { isCeiling, type Partition } from "./partition.ts";
import { acceptBatches, debit, reconcile } from "./posted.ts";
import { consumeNonce, openSession, revokeSession, setCapacity } from "./session.ts";
import type { Change, ReadRows } from "./tables.ts";

/** The result of a command: its reply, and the changes that must be durable in one commit before the reply is sent. */
export type Outcome<C extends Command = Command> = {
  reply: ReplyOf<C>;
  changes: readonly Change[];
  /** Applied to their targets in the same commit, or stored in it: see `outboxChange`. */
  deliveries: readonly Delivery[];
  /** For the operator: states that should not occur. */
  alerts: readonly string[];
};

/**
 * Applies one command to one partition. Pure: the same rows, command and clock give the same outcome. Throws only for
 * bugs in amounts, and then nothing has changed.
 *
 * @param clockMs The partition's clock, to refuse commands with a time that differs too much.
 */
export function apply<C extends Command>(
  partition: Partition,
  rows: ReadRows,
  command: C,
  clockMs: number,
): Outcome<C> {
  assertAmounts(command);
  const draft = makeDraft(rows);
  const reply = dispatch(draft, { partition, rows, clockMs }, command) as ReplyOf<C>;
  return { reply, changes: draft.changes, deliveries: draft.deliveries, alerts: draft.alerts };
}

/** The context of a command. Its rows are as before the command. */
type Place = { partition: Partition; rows: ReadRows; clockMs: number };

function dispatch(draft: Draft, { partition, rows, clockMs }: Place, command: Command): Reply {
  switch (command.type) {
    case "reserve":
      return reserve(draft, rows, partition, command, clockMs);
    case "reserveCeiling":
      return reserveCeiling(draft, partition, command, clockMs);
    case "reserveOffer":
      return reserveOffer(draft, command, clockMs);
    case "openBlock":
      return openBlock(draft, partition, command, clockMs);
    case "closeBlock":
      return closeBlock(draft, rows, partition, command, clockMs);
    case "reassign":
      return reassign(draft, command);
    case "setOffer":
      return setOffer(draft, command);
    case "endOffer":
      return endOffer(draft, command);
    case "checkpoint":
      return checkpoint(draft, command);
    case "settle":
      return settle(draft, partition, command, clockMs);
    case "release":
      return release(draft, command, clockMs);
    case "orphan":
      return orphan(draft, command);
    case "inquire":
      return inquire(draft, rows, partition, command, clockMs);
    case "follow":
      return isCeiling(partition)
        ? followCeiling(draft, partition, command, clockMs)
        : follow(draft, partition, command, clockMs);
    case "journal":
      return journal(draft, partition, command);
    case "addShard":
      return addShard(draft, command);
    case "gatherUses":
      return gatherUses(draft, rows, command);
    case "returnUses":
      return returnUses(draft, rows, command);
    case "setAsideUses":
      return setAsideUses(draft, rows, command);
    case "reconcile":
      return reconcile(draft, command, clockMs);
    case "acceptBatches":
      return acceptBatches(draft, rows, command);
    case "openBatch":
      return openBatch(draft, command);
    case "buildBatch":
      return buildBatch(draft, command);
    case "signBatch":
      return signBatch(draft, command);
    case "settleBatch":
      return settleBatch(draft, command);
    case "rejectBatch":
      return rejectBatch(draft, command);
    case "dropBatch":
      return dropBatch(draft, command);
    case "carry":
      return carry(draft, command, clockMs);
    case "setCeiling":
      return setCeiling(draft, rows, command);
    case "setCapacity":
      return setCapacity(draft, rows, command);
    case "credit":
      return credit(draft, command);
    case "debit":
      return debit(draft, command);
    case "createKey":
      return createKey(draft, command);
    case "updateKey":
      return updateKey(draft, command);
    case "rollKey":
      return rollKey(draft, command);
    case "setKeyTerms":
      return setKeyTerms(draft, rows, command);
    case "revokeKey":
      return revokeKey(draft, command);
    case "consumeNonce":
      return consumeNonce(draft, command);
    case "openSession":
      return openSession(draft, command);
    case "revokeSession":
      return revokeSession(draft, command);
    case "advance":
      return advance(draft, command);
    case "forget":
      return forget(draft, command, clockMs);
    case "acknowledge":
      draft.remove("outbox", command.id);
      return { status: "acknowledged" };
    default:
      return unknown(command);
  }
}

/** During a rollout a newer version may send a command that this one does not know. It throws, and is sent again. */
function unknown(command: never): never {
  throw new Error(`there is no command ${(command as { type?: unknown }).type} in this version`);
}

/** An invalid amount is a bug, and stops here: a negative one would make room for other requests. */
function assertAmounts(command: Command): void {
  for (const property in command) {
    if (!property.endsWith("NanoUsd")) continue;
    const value = (command as Record<string, unknown>)[property];
    if (value === null || value === undefined || isNanoUsd(value)) continue;
    assertNanoUsd(value as number, `${command.type}'s ${property}`);
  }
}
