import { assertNanoUsd, NANO_USD_PER_TOKEN_UNIT } from "@inference/protocol/money";
import { DAY_MS } from "@inference/protocol/window";
import { batchId } from "./batch.ts";
import { counterId, counterOf } from "./budget.ts";
import type { Commands, ReplyOf } from "./commands.ts";
import { deliver } from "./delivery.ts";
import type { Draft } from "./draft.ts";
import { accountPartition, ceilingPartition } from "./partition.ts";
import type { SettledBatch } from "./settled-batch.ts";
import type { BatchRow, CursorRow, PostedRow, ReadRows } from "./tables.ts";

/**
 * Batches as the chain's events tell them. They are read like activations: ids follow each other, sums add up, and the
 * cursor moves in the same commit. A batch that this ledger did not post is foreign: what it debited is taken from the
 * balances, so that no account can spend more here than the chain has credit for, and from the ceiling of the day that
 * paid for it.
 */
type CommandOf<T extends keyof Commands> = Commands[T]["command"];
type Gap = Extract<ReplyOf<CommandOf<"advance">>, { status: "gap" }>;

/** The part of a cursor that counts what was read, before anything was. */
export const nothingRead = {
  lastActivationId: 0,
  totalActivated: "0",
  lastBatchId: null,
  totalDebitedNanoUsd: null,
  foreignBatch: null,
} as const;

type Read = Pick<CursorRow, "lastBatchId" | "totalDebitedNanoUsd" | "foreignBatch">;

/** How the batches and credits of some blocks contradict the rows; undefined if they do not. Changes nothing. */
export function gapInBatches(
  draft: Draft,
  cursor: Read | undefined,
  { batches = [], credits = [], activations }: CommandOf<"advance">,
): Gap | undefined {
  let last = cursor?.lastBatchId ?? 0;
  let total = BigInt(cursor?.totalDebitedNanoUsd ?? 0);
  const paid = new Map<string, bigint>();
  const moved = new Map<string, bigint>();
  const move = (account: string, by: bigint) => moved.set(account, (moved.get(account) ?? 0n) + by);
  for (const { account, amountToken } of activations) move(account, BigInt(amountToken) * NANO_USD_PER_TOKEN_UNIT);
  for (const { id, day, amountNanoUsd, paidAfterNanoUsd, totalDebitedNanoUsd, debits } of batches) {
    const amount = BigInt(amountNanoUsd);
    last += 1;
    total += amount;
    const paidAfter = (paid.get(day) ?? BigInt(counterOf(draft, paidId(day)).settledNanoUsd)) + amount;
    paid.set(day, paidAfter);
    for (const debit of debits) move(debit.account, -BigInt(debit.amountNanoUsd));
    const sum = debits.reduce((all, debit) => all + BigInt(debit.amountNanoUsd), 0n);
    const expected = `batch ${last} of ${sum}, ${paidAfter} on its day and ${total} in total`;
    const got = `batch ${id} of ${amountNanoUsd}, ${paidAfterNanoUsd} on its day and ${totalDebitedNanoUsd} in total`;
    if (expected !== got) return { status: "gap", expected, got };
  }
  const told = new Map(credits.map(({ account, creditNanoUsd }) => [account, BigInt(creditNanoUsd)]));
  for (const [account, by] of moved) {
    const after = BigInt(draft.get("onchain", account)?.creditNanoUsd ?? 0) + by;
    const expected = `a credit of ${after} of ${account}`;
    if (told.get(account) !== after) return { status: "gap", expected, got: `${told.get(account)}` };
  }
  return undefined;
}

/** Writes the batches and credits of some blocks. Returns what the cursor says of them. */
export function takeBatches(draft: Draft, cursor: Read | undefined, command: CommandOf<"advance">): Read {
  const { batches, credits = [] } = command;
  if (batches === undefined) return { lastBatchId: null, totalDebitedNanoUsd: null, foreignBatch: null };
  let foreignBatch = cursor?.foreignBatch ?? null;
  for (const { account, creditNanoUsd } of credits) {
    draft.put("onchain", { id: account, creditNanoUsd: Number(creditNanoUsd) });
  }
  for (const batch of batches) {
    const { day, root, paidAfterNanoUsd, totalDebitedNanoUsd, block, transaction } = batch;
    const isForeign = !isOurs(draft.get("batch", batchId(batch.id)), batch);
    const amountNanoUsd = assertNanoUsd(Number(batch.amountNanoUsd), "a batch's amount");
    const paidAfter = assertNanoUsd(Number(paidAfterNanoUsd), "what is paid on a day");
    draft.put("posted", {
      ...{ id: batchId(batch.id), origin: isForeign ? "foreign" : "ours", day, root, amountNanoUsd },
      ...{ paidAfterNanoUsd: paidAfter, totalDebitedNanoUsd, block, hash: transaction },
    });
    draft.put("counter", { ...counterOf(draft, paidId(day)), settledNanoUsd: paidAfter });
    if (!isForeign) continue;
    foreignBatch ??= batch.id;
    draft.alert(`batch ${batch.id} of ${amountNanoUsd} is not ours: its debits are taken from the balances`);
    takeFromBalances(draft, command, batch);
    takeFromCeiling(draft, command, batch);
  }
  const last = batches.at(-1);
  const lastBatchId = last?.id ?? cursor?.lastBatchId ?? 0;
  return {
    lastBatchId,
    totalDebitedNanoUsd: last?.totalDebitedNanoUsd ?? cursor?.totalDebitedNanoUsd ?? "0",
    foreignBatch,
  };
}

/** Takes from the balance what a foreign batch debited on chain. */
export function debit(draft: Draft, command: CommandOf<"debit">): ReplyOf<CommandOf<"debit">> {
  const { id, amountNanoUsd, at, detail } = command;
  const existing = draft.get("debit", id);
  if (existing !== undefined) {
    if (existing.amountNanoUsd === amountNanoUsd) return { status: "debited" };
    draft.alert(`debit ${id} is ${existing.amountNanoUsd}, and came again as ${amountNanoUsd}`);
    return { status: "conflict" };
  }
  const balance = draft.get("budget", "balance") ?? { id: "balance", window: "lifetime", limitNanoUsd: 0 };
  const limitNanoUsd = (balance.limitNanoUsd ?? 0) - amountNanoUsd;
  if (limitNanoUsd < 0) {
    draft.alert(`debit ${id} of ${amountNanoUsd} is more than was credited, and waits in the outbox`);
    return { status: "too_much" };
  }

  // After this point it is taken. What is held stays held, also above the limit.
  draft.put("budget", { ...balance, limitNanoUsd });
  draft.put("debit", { id, amountNanoUsd, debitedAt: at, detail });
  return { status: "debited" };
}

export function acceptBatches(
  draft: Draft,
  rows: ReadRows,
  { at }: CommandOf<"acceptBatches">,
): ReplyOf<CommandOf<"acceptBatches">> {
  const cursor = draft.get("cursor", "cursor");
  if (cursor === undefined || cursor.foreignBatch === null) return { status: "accepted", left: null };
  const page = rows.list("posted", { after: batchId(cursor.foreignBatch - 1), limit: ACCEPTED_AT_ONCE });
  const foreign = page.filter(({ origin }) => origin === "foreign");
  const taken = foreign.find(({ id }) => draft.get("batch", id) !== undefined);
  if (taken !== undefined) return { status: "conflict", batch: Number(taken.id) };

  // After this point they are accepted.
  for (const row of foreign) {
    draft.put("posted", { ...row, origin: "accepted" });
    const nothingOfOurs = { uses: 0, firstUse: null, lastUse: null, transactions: 0, entries: null };
    draft.put("batch", {
      ...{ id: row.id, state: "settled", journal: row.day, openedAt: 0, root: row.root, ...nothingOfOurs },
      ...{ amountNanoUsd: row.amountNanoUsd, settledBy: row.hash, block: row.block, settledAt: at },
    });
  }
  const left = page.length < ACCEPTED_AT_ONCE ? null : Number(page.at(-1)?.id) + 1;
  draft.put("cursor", { ...cursor, foreignBatch: left });
  return { status: "accepted", left };
}

/** The record of a day that is over by our clock: a reconciler whose clock is ahead must close nothing. */
export function reconcile(
  draft: Draft,
  command: CommandOf<"reconcile">,
  clockMs: number,
): ReplyOf<CommandOf<"reconcile">> {
  const { type: _, ...row } = command;
  if (Date.parse(row.id) + DAY_MS > clockMs) return { status: "early" };
  if (draft.get("reconciliation", row.id)?.closedAt != null) return { status: "closed" };
  draft.put("reconciliation", row);
  return { status: "kept" };
}

const ACCEPTED_AT_ONCE = 200;

/** The batches before one, or the last ones, as the chain tells them; the newest first. */
export function postedBefore(rows: ReadRows, before: number | null, limit: number): (PostedRow & { batch: number })[] {
  const end = before === null ? ":" : batchId(before);
  return rows.newest("posted", { before: end, limit }).map((row) => ({ ...row, batch: Number(row.id) }));
}

/**
 * Whether the batch is one that was built here, with the same debits. Books that are a copy from the moment before it
 * was signed have its uses in it too: it must not be debited again.
 */
function isOurs(row: BatchRow | undefined, { root, amountNanoUsd, entries }: SettledBatch): boolean {
  if (row === undefined || row.root !== root || String(row.amountNanoUsd) !== amountNanoUsd) return false;
  const isBuilt = row.state === "built" || row.state === "signed" || row.state === "settled";
  return isBuilt && (row.entries === null || row.entries === entries);
}

function takeFromBalances(draft: Draft, { chainId, at }: CommandOf<"advance">, batch: SettledBatch): void {
  const sums = new Map<string, bigint>();
  for (const { account, amountNanoUsd } of batch.debits) {
    sums.set(account, (sums.get(account) ?? 0n) + BigInt(amountNanoUsd));
  }
  const id = `${chainId}:batch:${batch.id}`;
  const detail = JSON.stringify({ block: batch.block, transaction: batch.transaction });
  for (const [account, sum] of sums) {
    if (sum === 0n) continue;
    const amountNanoUsd = assertNanoUsd(Number(sum), "a debit");
    const command = { type: "debit", id, at, amountNanoUsd, detail } as const;
    deliver(draft, id, accountPartition(account as `0x${string}`), command);
  }
}

/** The day's ceiling on chain paid for it, so our day has that much less. */
function takeFromCeiling(draft: Draft, { chainId }: CommandOf<"advance">, batch: SettledBatch): void {
  const id = `${chainId}:batch:${batch.id}`;
  const amountNanoUsd = assertNanoUsd(Number(batch.amountNanoUsd), "a batch's amount");
  deliver(draft, id, ceilingPartition, { type: "carry", id, at: Date.parse(batch.day), amountNanoUsd });
}

/** Counts what was paid from a day's ceiling on chain. */
function paidId(day: string): string {
  return counterId("paid", { window: "day" }, Date.parse(day));
}
