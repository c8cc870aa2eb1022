import type { Activation, ChunkRecord, SettledChunk } from "../../messages/commands.ts";

/**
 * Model of the settlement contract on a chain that reorganizes. The state after each block is kept, with all events up
 * to there, so that a reader of final blocks and a reorganization are look-ups. Amounts are nano-dollars.
 */
export type Root = string;

/** A debit of one account, from a known total. */
export type SettleRecord = Omit<ChunkRecord, "parts" | "proof">;

export type Transaction =
  | { type: "activate"; account: string; amountNanoUsd: number }
  | { type: "settle"; day: string; records: readonly SettleRecord[] }
  | { type: "ceiling"; limit: number };

export type AccountTotals = { activated: number; debited: number };

type ChainState = {
  accounts: ReadonlyMap<string, AccountTotals>;
  paidOnDay: ReadonlyMap<string, number>;
  ceiling: number;
  activations: readonly Activation[];
  chunks: readonly SettledChunk[];
};

export type ModelChain = {
  /** The state after a block. */
  at(block: number): ChainState;
  /** The number of the latest block. */
  latest(): number;
  /** The number of the latest final block, which no reorganization replaces. */
  final(): number;
  mine(transactions: readonly Transaction[]): void;
  /** Replaces the blocks that are not final, the last `depth` at most. Returns their transactions. */
  reorganize(depth: number): Transaction[];
};

export const FINAL_AFTER = 3;

export function makeChain(ceiling: number): ModelChain {
  const empty: ChainState = { accounts: new Map(), paidOnDay: new Map(), ceiling, activations: [], chunks: [] };
  const states = [empty];
  const blocks: (readonly Transaction[])[] = [[]];
  const latest = (): number => states.length - 1;
  let finalBlock = 0;
  const at = (block: number): ChainState => {
    const state = states[block];
    if (state === undefined) throw new RangeError(`There is no block ${block}.`);
    return state;
  };
  return {
    at,
    latest,
    final: () => finalBlock,
    mine(transactions) {
      const block = states.length;
      states.push(transactions.reduce((state, transaction) => execute(state, transaction, block), at(latest())));
      blocks.push(transactions);
      finalBlock = Math.max(finalBlock, latest() - FINAL_AFTER);
    },
    reorganize(depth) {
      const count = Math.min(depth, latest() - finalBlock);
      if (count === 0) return [];
      states.splice(-count);
      return blocks.splice(-count).flat();
    },
  };
}

export function totalsOf({ accounts }: Pick<ChainState, "accounts">, account: string): AccountTotals {
  return accounts.get(account) ?? { activated: 0, debited: 0 };
}

function execute(state: ChainState, transaction: Transaction, block: number): ChainState {
  if (transaction.type === "ceiling") return { ...state, ceiling: transaction.limit };
  if (transaction.type === "settle") return settle(state, transaction.day, transaction.records, block);
  const { account, amountNanoUsd } = transaction;
  const totals = totalsOf(state, account);
  const activated = totals.activated + amountNanoUsd;
  const before = state.activations.at(-1);
  const amountToken = String(amountNanoUsd / NANO_PER_TOKEN);
  const activation: Activation = {
    ...{
      id: (before?.id ?? 0) + 1,
      account,
      amountToken,
      accountActivatedNanoUsd: activated,
      block,
      transaction: "0x",
    },
    totalActivated: String(Number(before?.totalActivated ?? 0) + Number(amountToken)),
  };
  const accounts = withTotals(state, account, { ...totals, activated });
  return { ...state, accounts, activations: [...state.activations, activation] };
}

export const NANO_PER_TOKEN = 1_000;

/** Books what moves something. A chunk that books nothing leaves no event. */
function settle(state: ChainState, day: string, records: readonly SettleRecord[], block: number): ChainState {
  let next = state;
  const booked: ChunkRecord[] = [];
  for (const record of records) {
    const totals = totalsOf(next, record.account);
    const paid = next.paidOnDay.get(day) ?? 0;
    const amount = Math.min(record.amountNanoUsd, totals.activated - totals.debited, next.ceiling - paid);
    if (record.beforeNanoUsd !== totals.debited || amount <= 0) continue;
    const accounts = withTotals(next, record.account, { ...totals, debited: totals.debited + amount });
    next = { ...next, accounts, paidOnDay: new Map(next.paidOnDay).set(day, paid + amount) };
    booked.push({ ...record, amountNanoUsd: amount, parts: "[]", proof: "" });
  }
  if (booked.length === 0) return state;
  const amountNanoUsd = booked.reduce((sum, record) => sum + record.amountNanoUsd, 0);
  const paidAfterNanoUsd = next.paidOnDay.get(day) ?? 0;
  const totalDebitedNanoUsd = String(Number(state.chunks.at(-1)?.totalDebitedNanoUsd ?? 0) + amountNanoUsd);
  const root = `chunk of ${booked.map(({ account, beforeNanoUsd }) => `${account} ${beforeNanoUsd}`).join()}`;
  const sums = { amountNanoUsd, paidAfterNanoUsd, totalDebitedNanoUsd };
  const chunk: SettledChunk = { root, day, ...sums, records: booked, block, transaction: "0x" };
  return { ...next, chunks: [...state.chunks, chunk] };
}

function withTotals({ accounts }: ChainState, account: string, totals: AccountTotals): Map<string, AccountTotals> {
  return new Map(accounts).set(account, totals);
}
