import { MAX_NANO_USD, type NanoUsd } from "@inference/protocol/money";
import { asking, blockSpending, blockWithRoom, grantOf } from "./block.ts";
import { counterOf, shareOf } from "./budget.ts";
import { dayOf, holdGranted, maxShare, shareId } from "./ceiling-hold.ts";
import type { CeilingTerms, Commands, ReserveReply } from "./commands.ts";
import type { Draft } from "./draft.ts";
import { isUnresolved } from "./hold-row.ts";
import { BLOCK_LEAST_REQUESTS } from "./limits.ts";
import { ceilingPartition } from "./partition.ts";
import type { CounterRow, HoldRow } from "./tables.ts";

/**
 * A shard of the day's ceiling, for some of the accounts. To its accounts it is the ceiling, and to the ceiling it is
 * an owner: it holds a block of the ceiling, and admits its accounts' requests and their blocks from that. What has no
 * room there is held by the ceiling under the same id.
 *
 * A shard refuses nothing. It knows the day's limit as it was when its block was drawn, and keeps the accounts' shares
 * of it exactly, because an account stays in one shard. What is above a share, or has no room in the block, the ceiling
 * decides, and is told what the account holds besides.
 */
type ReserveCeiling = Commands["reserveCeiling"]["command"];

/** @param begun The hold, or the reply to a command that is repeated or comes too late. */
export function reserveShard(
  draft: Draft,
  begun: HoldRow | ReserveReply,
  command: ReserveCeiling,
  clockMs: number,
): ReserveReply {
  const share = counterOf(draft, shareId(command.owner));
  if ("status" in begun) {
    const existing = begun.status === "reserved" ? draft.get("hold", command.id) : undefined;
    if (existing === undefined) return begun;
    const heldNanoUsd = isUnresolved(existing) ? existing.amountNanoUsd : 0;
    return { ...begun, ...termsOf(command, existing, share.heldNanoUsd - heldNanoUsd) };
  }
  const { budget, counter } = dayOf(draft, command.at);
  const block = blockWithRoom(draft, command, clockMs);
  const shareLeft = maxShare(budget) - share.heldNanoUsd;
  const reply = { status: "reserved", keyId: null, leaseUntil: begun.leaseUntil } as const;
  if (block !== undefined && command.amountNanoUsd <= shareLeft) {
    const granted = grantOf(command, Math.min(shareLeft, shareOf(block.roomNanoUsd, 1, MOST_OF_ROOM)));
    const counters = [counter, block.counter];
    return { ...reply, ...termsOf(command, holdGranted(draft, begun, granted, { counters, share }), 0) };
  }
  const { counters, terms } = asking(draft, command, wantedBlock(draft, counter, command, clockMs));
  const hold = { ...begun, followers: ceilingPartition };
  holdGranted(draft, hold, command.amountNanoUsd, { counters: [counter, ...counters], share });
  return { ...reply, ...termsOf(command, hold, share.heldNanoUsd), ...terms };
}

/** An account's block takes half of the room at most, so that the others find some too. */
const MOST_OF_ROOM = 2;

/** @param ownNanoUsd What the account holds besides. */
function termsOf({ wantedNanoUsd }: ReserveCeiling, hold: HoldRow, ownNanoUsd: NanoUsd): CeilingTerms {
  const ofBlock = wantedNanoUsd === undefined ? {} : { heldNanoUsd: hold.amountNanoUsd };
  return hold.followers === "" ? { isCovered: true, ...ofBlock } : { ownNanoUsd, ...ofBlock };
}

/**
 * What is in flight, what the accounts spend in 30 s, and room for the block that the account wants. Nothing, if few
 * requests are in flight.
 */
function wantedBlock(
  draft: Draft,
  { openHolds, heldNanoUsd }: CounterRow,
  { at, amountNanoUsd, wantedNanoUsd }: ReserveCeiling,
  clockMs: number,
): NanoUsd {
  if (wantedNanoUsd === undefined && openHolds + 1 < BLOCK_LEAST_REQUESTS) return 0;
  const next = wantedNanoUsd === undefined ? amountNanoUsd : MOST_OF_ROOM * wantedNanoUsd;
  return Math.min(MAX_NANO_USD, heldNanoUsd + next + (blockSpending(draft, at, clockMs) ?? 0));
}
