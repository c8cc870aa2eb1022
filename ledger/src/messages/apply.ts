import { assertNanoUsd, isNanoUsd } from "@inference/protocol/money";
import { Draft } from "../rows/draft.ts";
import type { Change, ReadRows } from "../rows/tables.ts";
import { lower } from "../rules/allowance.ts";
import { hear, nameRoot, releaseHolds, seal } from "../rules/bill.ts";
import { setCarry, setCeiling } from "../rules/ceiling.ts";
import { advance, creditEarly, noteBill, reconcile, reread, waitFor } from "../rules/chain.ts";
import { forget } from "../rules/forget.ts";
import { checkpoint, orphan, reassign, release, reserve, settle } from "../rules/hold.ts";
import { createKey, revokeKey, rollKey, setKeyTerms, updateKey } from "../rules/key.ts";
import { noteTries, notice } from "../rules/notice.ts";
import { endOffer, setCapacity, setOffer } from "../rules/offer.ts";
import type { Place, Rule } from "../rules/place.ts";
import { consumeNonce, openSession, revokeSession } from "../rules/session.ts";
import { allow, empty, fill } from "../rules/shared-limit.ts";
import { dropTransaction, inquire, signChunk, tell } from "../rules/told.ts";
import { removeWebhook, setWebhook } from "../rules/webhook.ts";
import type { Command, CommandType, ReplyOf } from "./commands.ts";
import type { Delivery } from "./delivery.ts";
import type { Partition } from "./partition.ts";

/** The result of a command: its reply, and the changes that must be durable in one commit before the reply is sent. */
export type Outcome<C extends Command = Command> = {
  reply: ReplyOf<C>;
  changes: readonly Change[];
  /** Applied to their targets in the same commit, or stored in it: see `outboxChange`. */
  deliveries: readonly Delivery[];
  /** For the operator: states that should not occur. */
  alerts: readonly string[];
};

/** The host's clock, to refuse commands with a time that differs too much, and its epoch. */
export type HostState = {
  clockMs: number;
  /**
   * Above 0. It changes when the rows may be an older copy: on one machine with each start, at the edge with a restore.
   * An account changes no money before it has heard the chain's totals in it.
   */
  epoch: number;
};

const rules: { [T in CommandType]: Rule<T> } = {
  reserve,
  reassign,
  checkpoint,
  settle,
  release,
  orphan,
  allow,
  lower,
  empty,
  fill,
  setCarry,
  setCeiling,
  setCapacity,
  setOffer,
  endOffer,
  hear,
  seal,
  nameRoot,
  releaseHolds,
  inquire,
  tell,
  signChunk,
  dropTransaction,
  advance,
  creditEarly,
  reread,
  waitFor,
  reconcile,
  noteBill,
  createKey,
  updateKey,
  rollKey,
  setKeyTerms,
  revokeKey,
  setWebhook,
  removeWebhook,
  notice,
  noteTries,
  consumeNonce,
  openSession,
  revokeSession,
  forget,
  acknowledge: ({ draft }, { id }) => {
    draft.remove("outbox", id);
    return { status: "acknowledged" };
  },
};

/**
 * Applies one command to one partition. Pure: the same rows, command and host give the same outcome. Throws only for
 * bugs in amounts, and then nothing has changed.
 */
export function apply<C extends Command>(
  partition: Partition,
  rows: ReadRows,
  command: C,
  { clockMs, epoch }: HostState,
): Outcome<C> {
  const rule = rules[command.type] as ((place: Place, command: C) => ReplyOf<C>) | undefined;
  // During a rollout a newer version may send one that this version does not know. It is sent again.
  if (rule === undefined) throw new Error(`there is no command ${command.type} in this version`);
  assertAmounts(command);
  const draft = new Draft(rows);
  const reply = rule({ draft, rows, partition, clockMs, epoch }, command);
  return { reply, changes: draft.changes, deliveries: draft.deliveries, alerts: draft.alerts };
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
