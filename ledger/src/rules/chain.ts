import { assertNanoUsd, cappedNanoUsd, NANO_USD_PER_TOKEN_UNIT, type NanoUsd } from "@inference/protocol/money";
import { MOST_NAMED, type Reconciliation } from "@inference/protocol/reconciliation";
import { DAY_MS } from "@inference/protocol/window";
import type { Activation, ChunkRecord, Commands, SettledChunk } from "../messages/commands.ts";
import { deliver } from "../messages/delivery.ts";
import { accountPartition } from "../messages/partition.ts";
import type { Draft } from "../rows/draft.ts";
import type { CursorRow, PayerRow, Rows } from "../rows/tables.ts";
import { counterId, counterOf, emptyCounter, forgetWindows } from "./budget.ts";
import type { Place, Rule } from "./place.ts";
import { hearingAt, payerOf, recordId } from "./told.ts";

/**
 * Activations and debits, as the events of final blocks tell them: each follows the one before, and all sums are those
 * of the contract. The cursor, the totals of the accounts and the deliveries to them are in one commit. A delivery has
 * totals, so it may come late or twice.
 */
export const noCursor: CursorRow = {
  id: "cursor",
  block: 0,
  blockHash: "",
  lastActivationId: 0,
  totalActivated: "0",
  totalDebitedNanoUsd: "0",
  replay: 0,
  readyFrom: 0,
};

type Advance = Commands["advance"]["command"];
type Gap = Extract<Commands["advance"]["reply"], { status: "gap" }>;

/** The totals after some events: of accounts, and of what was paid on days. */
type Totals = {
  readonly rows: Rows;
  lastActivationId: number;
  totalActivated: bigint;
  totalDebited: bigint;
  readonly payers: Map<string, PayerRow>;
  readonly paid: Map<string, NanoUsd>;
};

export const advance: Rule<"advance"> = (place, command) => {
  const { draft } = place;
  const cursor = draft.get("cursor", "cursor");
  if (cursor === undefined) return gap("a reading", "none: the chain is to be read from its first block");
  const { block, blockHash } = command;
  if (block < cursor.block) return gap(`a block from ${cursor.block}`, `block ${block}`);
  if (block === cursor.block && cursor.blockHash !== "") {
    if (blockHash !== cursor.blockHash) return gap(`block ${cursor.blockHash}`, `block ${blockHash}`);
    if (isRepeated(draft, cursor, command)) return { status: "advanced" };
  }
  const totals: Totals = {
    rows: draft,
    lastActivationId: cursor.lastActivationId,
    totalActivated: BigInt(cursor.totalActivated),
    totalDebited: BigInt(cursor.totalDebitedNanoUsd),
    payers: new Map(),
    paid: new Map(),
  };
  for (const activation of command.activations) {
    const wrong = addActivation(totals, activation);
    if (wrong !== undefined) return wrong;
  }
  for (const chunk of command.chunks) {
    const wrong = addChunk(totals, chunk);
    if (wrong !== undefined) return wrong;
  }

  // After this point the cursor moves.
  draft.put("cursor", {
    ...{ ...cursor, block, blockHash, lastActivationId: totals.lastActivationId },
    ...{ totalActivated: String(totals.totalActivated), totalDebitedNanoUsd: String(totals.totalDebited) },
  });
  for (const [day, paidNanoUsd] of totals.paid) {
    draft.put("counter", { ...emptyCounter(paidId(day)), settledNanoUsd: paidNanoUsd });
    forgetWindows(draft, place.rows, PAID, { window: "day", at: Date.parse(day) });
  }
  for (const chunk of command.chunks) putChunk(place, chunk, command.at);
  for (const payer of totals.payers.values()) putPayer(draft, payer, cursor.replay, command.at);
  return { status: "advanced" };
};

/** Whether the cursor has these events already. */
function isRepeated(rows: Rows, cursor: CursorRow, { activations, chunks }: Advance): boolean {
  const [activation, chunk] = [activations.at(-1), chunks.at(-1)];
  if (activation === undefined && chunk === undefined) return false;
  const hasActivation = activation === undefined || activation.id <= cursor.lastActivationId;
  return hasActivation && (chunk === undefined || rows.get("chunk", chunk.root) !== undefined);
}

function addActivation(totals: Totals, activation: Activation): Gap | undefined {
  const amountToken = BigInt(activation.amountToken);
  totals.lastActivationId += 1;
  totals.totalActivated += amountToken;
  const payer = payerIn(totals, activation.account);
  const activatedNanoUsd = cappedNanoUsd(BigInt(payer.activatedNanoUsd) + amountToken * NANO_USD_PER_TOKEN_UNIT);
  totals.payers.set(payer.id, { ...payer, activatedNanoUsd });
  const expected = `activation ${totals.lastActivationId}, ${totals.totalActivated} in total, ${activatedNanoUsd} of ${payer.id}`;
  const { id, totalActivated, accountActivatedNanoUsd } = activation;
  const got = `activation ${id}, ${totalActivated} in total, ${accountActivatedNanoUsd} of ${payer.id}`;
  return got === expected ? undefined : gap(expected, got);
}

function addChunk(totals: Totals, { root, day, records, amountNanoUsd, ...chunk }: SettledChunk): Gap | undefined {
  let sum = 0;
  for (const { account, beforeNanoUsd, amountNanoUsd: amount, root: lastRoot } of records) {
    const payer = payerIn(totals, account);
    const isAt = payer.debitedNanoUsd === beforeNanoUsd;
    if (!isAt)
      return gap(`a record of ${payer.id} from ${payer.debitedNanoUsd}`, `one from ${beforeNanoUsd} in ${root}`);
    const debitedNanoUsd = assertNanoUsd(beforeNanoUsd + amount, "an account's debits");
    totals.payers.set(payer.id, { ...payer, debitedNanoUsd, lastRoot });
    sum += amount;
  }
  totals.totalDebited += BigInt(sum);
  const paidAfterNanoUsd = (totals.paid.get(day) ?? counterOf(totals.rows, paidId(day)).settledNanoUsd) + sum;
  totals.paid.set(day, paidAfterNanoUsd);
  const expected = `${sum} in ${root}, ${paidAfterNanoUsd} of ${day}, ${totals.totalDebited} in total`;
  const got = `${amountNanoUsd} in ${root}, ${chunk.paidAfterNanoUsd} of ${day}, ${chunk.totalDebitedNanoUsd} in total`;
  return got === expected ? undefined : gap(expected, got);
}

function payerIn({ payers, rows }: Totals, account: string): PayerRow {
  const id = account.toLowerCase();
  return payers.get(id) ?? payerOf(rows, id);
}

function putChunk({ draft }: Place, chunk: SettledChunk, at: number): void {
  const { root: id, block, transaction: transactionHash, day, amountNanoUsd, paidAfterNanoUsd } = chunk;
  const sums = { amountNanoUsd, paidAfterNanoUsd, totalDebitedAfterNanoUsd: chunk.totalDebitedNanoUsd };
  draft.put("chunk", { id, block, transactionHash, day, ...sums });
  const paidAt = Date.parse(day);
  let statementsNanoUsd = 0;
  const foreign: [account: string, amountNanoUsd: NanoUsd][] = [];
  for (const record of chunk.records) {
    const { account, beforeNanoUsd, amountNanoUsd: amount, root, parts, proof } = record;
    const isOwn = isOwnRecord(draft, record) ? 1 : 0;
    const terms = { amountNanoUsd: amount, root, chunk: id, parts, proof, paidAt, isOwn };
    draft.put("record", { id: recordId(account, beforeNanoUsd), ...terms });
    statementsNanoUsd += isOwn * amount;
    if (isOwn === 0) foreign.push([account.toLowerCase(), amount]);
  }
  addToDay(draft, { day, at, amountNanoUsd, statementsNanoUsd, foreign });
}

/** Whether it pays the statement that its account told. An earlier reading of the chain may have found that. */
function isOwnRecord(rows: Rows, { account, beforeNanoUsd, root }: ChunkRecord): boolean {
  const told = rows.get("told", account.toLowerCase());
  if (told?.root === root) return true;
  return rows.get("record", recordId(account, beforeNanoUsd))?.isOwn === 1;
}

/** Adds a chunk to the open reconciliation of its day. */
function addToDay(
  draft: Draft,
  {
    day,
    at,
    amountNanoUsd,
    statementsNanoUsd,
    foreign,
  }: {
    day: string;
    at: number;
    amountNanoUsd: NanoUsd;
    statementsNanoUsd: NanoUsd;
    foreign: readonly (readonly [account: string, amountNanoUsd: NanoUsd])[];
  },
): void {
  const row = draft.get("reconciliation", day);
  if (row !== undefined && row.closedAt !== null) return;
  const before: Reconciliation = row === undefined ? noSums : (JSON.parse(row.detail) as Reconciliation);
  const named = new Map(Object.entries(before.foreignOf ?? {}));
  for (const [account, amount] of foreign) {
    const known = named.get(account);
    if (known !== undefined || named.size < MOST_NAMED) named.set(account, (known ?? 0) + amount);
  }
  const sums: Reconciliation = {
    statementsNanoUsd: before.statementsNanoUsd + statementsNanoUsd,
    debitedNanoUsd: before.debitedNanoUsd + amountNanoUsd,
    foreignNanoUsd: before.foreignNanoUsd + amountNanoUsd - statementsNanoUsd,
    chunks: before.chunks + 1,
    ...(named.size === 0 ? {} : { foreignOf: Object.fromEntries(named) }),
  };
  draft.put("reconciliation", { id: day, at, closedAt: null, unexplainedNanoUsd: 0, detail: JSON.stringify(sums) });
}

const noSums = { statementsNanoUsd: 0, debitedNanoUsd: 0, foreignNanoUsd: 0, chunks: 0 };

/** Writes an account's totals, forgets the statement that they cover, and lets the account hear. */
function putPayer(draft: Draft, payer: PayerRow, replay: number, at: number): void {
  draft.put("payer", payer);
  const told = draft.get("told", payer.id);
  if (told !== undefined && told.afterNanoUsd <= payer.debitedNanoUsd) draft.remove("told", payer.id);
  const { id } = payer;
  const hearing = hearingAt(draft, id, replay);
  const cause = `${replay} ${hearing.activatedNanoUsd} ${hearing.debitedNanoUsd}`;
  deliver(draft, cause, accountPartition(id as `0x${string}`), { type: "hear", at, epoch: null, ...hearing });
}

function paidId(day: string): string {
  return counterId(PAID, "day", Date.parse(day));
}

const PAID = "paid";

function gap(expected: string, got: string): Gap {
  return { status: "gap", expected, got };
}

export const reread: Rule<"reread"> = ({ draft, rows }, { at, readyFrom }) => {
  // The same call again.
  if ((draft.get("cursor", "cursor")?.replay ?? 0) >= at) return { status: "emptied" };
  draft.put("cursor", { ...noCursor, replay: at, readyFrom });
  for (const table of ["told", "payer", "counter"] as const) {
    for (const { id } of rows.list(table, { limit: Number.MAX_SAFE_INTEGER })) draft.remove(table, id);
  }
  for (const { id, closedAt } of rows.newest("reconciliation", { before: ":", limit: OPEN_DAYS })) {
    if (closedAt === null) draft.remove("reconciliation", id);
  }
  return { status: "emptied" };
};

/** A day is closed once everything that it paid is final. A chain without finality for longer needs other remedies. */
const OPEN_DAYS = 30;

/** Activations that are not final, for an operator who lets them count. The same events come again in `advance`. */
export const creditEarly: Rule<"creditEarly"> = ({ draft }, { at, activations }) => {
  const cursor = draft.get("cursor", "cursor");
  if (cursor === undefined) return { status: "unread" };
  for (const { account, accountActivatedNanoUsd } of activations) {
    const payer = payerOf(draft, account.toLowerCase());
    if (accountActivatedNanoUsd <= Math.max(payer.activatedNanoUsd, payer.aheadNanoUsd)) continue;
    const aheadNanoUsd = assertNanoUsd(accountActivatedNanoUsd, "an account's activations");
    putPayer(draft, { ...payer, aheadNanoUsd }, cursor.replay, at);
  }
  return { status: "credited" };
};

/** A block after all others: the host does not know yet which block accounts wait for. */
const UNKNOWN = Number.MAX_SAFE_INTEGER;

export const waitFor: Rule<"waitFor"> = ({ draft }, { readyFrom }) => {
  const cursor = draft.get("cursor", "cursor");
  if (cursor === undefined) return { status: "unread" };
  const before = cursor.readyFrom === UNKNOWN ? 0 : cursor.readyFrom;
  draft.put("cursor", { ...cursor, readyFrom: Math.max(before, readyFrom ?? UNKNOWN) });
  return { status: "waiting" };
};

/** The record of a day that is over by our clock: a reconciler whose clock is ahead must close nothing. */
export const reconcile: Rule<"reconcile"> = ({ draft, clockMs }, { type, ...row }) => {
  if (Date.parse(row.id) + DAY_MS > clockMs) return { status: "early" };
  if (draft.get("reconciliation", row.id)?.closedAt != null) return { status: "closed" };
  draft.put("reconciliation", row);
  return { status: "kept" };
};

export const noteBill: Rule<"noteBill"> = ({ draft }, { day, providerNanoUsd }) => {
  const row = draft.get("reconciliation", day);
  if (row?.closedAt == null) return { status: "open" };
  const record = JSON.parse(row.detail) as Reconciliation;
  if (record.providerNanoUsd !== undefined) return { status: "known" };
  draft.put("reconciliation", { ...row, detail: JSON.stringify({ ...record, providerNanoUsd }) });
  return { status: "noted" };
};
