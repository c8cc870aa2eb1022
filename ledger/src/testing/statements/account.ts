import type { AccountTotals, Root } from "./contract.ts";

/**
 * Model of an account's side of settlement: uses, statements, and the rules for final totals. Each rule is a function
 * from one state to the next. Amounts are nano-dollars.
 */
export type Use = { id: string; cost: number };

/** The uses between two totals. `lines` is null if the account adopted the statement and lost its uses. */
export type Statement = { before: number; after: number; root: Root; lines: readonly Use[] | null };

/** The final totals of an account, and the statement that the chain's partition knows. */
export type Hearing = AccountTotals & {
  /** Counts the readings of the chain from its first block. */
  replay: number;
  told: Omit<Statement, "lines"> | null;
};

export type AccountState = Hearing & {
  /** Whether the account has heard since it was last restored. Until then it does nothing. */
  hasHeard: boolean;
  /** The final total at which the open statement begins. */
  base: number;
  open: Statement | null;
  /** The settled uses that are in no statement, in order. */
  uses: readonly Use[];
  holds: ReadonlyMap<string, number>;
  /** The sum of the debits that takeovers and adoptions found. */
  takenOver: number;
};

export const newAccount: AccountState = {
  replay: 0,
  activated: 0,
  debited: 0,
  lastRoot: null,
  told: null,
  hasHeard: true,
  base: 0,
  open: null,
  uses: [],
  holds: new Map(),
  takenOver: 0,
};

export function totalOf(uses: readonly Use[]): number {
  return uses.reduce((sum, { cost }) => sum + cost, 0);
}

/** The amount that can be held. */
export function available({ activated, base, open, uses, holds }: AccountState): number {
  const held = [...holds.values()].reduce((sum, amount) => sum + amount, 0);
  return activated - (open?.after ?? base) - totalOf(uses) - held;
}

/** Returns the same state if the hold is refused. */
export function reserve(state: AccountState, id: string, amount: number): AccountState {
  if (!state.hasHeard || amount > available(state)) return state;
  return { ...state, holds: new Map(state.holds).set(id, amount) };
}

/** Ends a hold with a cost of at most its amount. A cost of zero leaves no use. */
export function settle(state: AccountState, id: string, cost: number): AccountState {
  if (!state.hasHeard || cost > (state.holds.get(id) ?? -1)) return state;
  const holds = new Map(state.holds);
  holds.delete(id);
  return { ...state, holds, uses: cost === 0 ? state.uses : [...state.uses, { id, cost }] };
}

/** Makes a statement of all uses, if none is open. */
export function seal(state: AccountState, root: Root): AccountState {
  const { hasHeard, base, open, uses } = state;
  if (!hasHeard || open !== null || uses.length === 0) return state;
  return { ...state, open: { before: base, after: base + totalOf(uses), root, lines: uses }, uses: [] };
}

/** The statement to tell the chain's partition: after a payment in part, the rest under the same root. */
export function statementToTell({ open, debited, lastRoot, hasHeard }: AccountState): Hearing["told"] {
  if (open === null || !hasHeard) return null;
  return { before: lastRoot === open.root ? debited : open.before, after: open.after, root: open.root };
}

/** @param isAnswer Whether the hearing answers a question that the account asked since it was restored. */
export function hear(state: AccountState, hearing: Hearing, isAnswer: boolean): AccountState {
  const heard = adopt(takeOver(closePaid(merge(state, hearing))));
  return { ...heard, hasHeard: state.hasHeard || isAnswer };
}

/** A new reading of the chain replaces the old one. Within one reading the larger totals count. */
function merge(state: AccountState, hearing: Hearing): AccountState {
  if (hearing.replay < state.replay) return state;
  const isNew = hearing.replay > state.replay;
  const { replay, told } = hearing;
  const activated = isNew ? hearing.activated : Math.max(state.activated, hearing.activated);
  if (!isNew && hearing.debited < state.debited) return { ...state, activated };
  const { debited, lastRoot } = hearing;
  return { ...state, replay, activated, debited, lastRoot, told };
}

/** The open statement is final. */
function closePaid(state: AccountState): AccountState {
  const { open, debited, lastRoot } = state;
  if (open === null || lastRoot !== open.root || debited !== open.after) return state;
  return { ...state, base: debited, open: null };
}

/** Final debits that are not by the open statement pay for the account's own uses, in order. */
function takeOver(state: AccountState): AccountState {
  const { open, debited, lastRoot, base } = state;
  const isOwn = open !== null && lastRoot === open.root && debited > open.before && debited < open.after;
  if (debited <= base || isOwn) return state;
  return { ...absorb(state, debited - base), base: debited, open: null, holds: new Map() };
}

/** A statement that was told before a restore becomes the open one. */
function adopt(state: AccountState): AccountState {
  const { told, open, debited, base } = state;
  if (told === null || told.root === open?.root || told.before !== debited || base !== debited) return state;
  if (told.after <= (open?.after ?? base)) return state;
  return { ...absorb(state, told.after - told.before), open: { ...told, lines: null } };
}

/** Removes uses up to an amount, the last one perhaps in part: first those of the open statement. */
function absorb(state: AccountState, amount: number): AccountState {
  let rest = amount;
  const uses: Use[] = [];
  for (const use of [...(state.open?.lines ?? []), ...state.uses]) {
    const paid = Math.min(rest, use.cost);
    rest -= paid;
    if (paid < use.cost) uses.push({ ...use, cost: use.cost - paid });
  }
  return { ...state, uses, takenOver: state.takenOver + amount };
}
