/**
 * Model of the settlement contract on a chain that reorganizes. The state after each block is kept, so that a reader of
 * final blocks and a reorganization are look-ups.
 */
export type Root = string;

/** A debit of one account, from a known total. Amounts are nano-dollars. */
export type SettleRecord = { account: string; before: number; amount: number; root: Root };

/** A record as booked. */
export type Booked = SettleRecord & { day: number };

export type Transaction =
  | { type: "activate"; account: string; amount: number }
  | { type: "settle"; day: number; records: readonly SettleRecord[] }
  | { type: "ceiling"; limit: number };

export type AccountTotals = { activated: number; debited: number; lastRoot: Root | null };

type ChainState = {
  accounts: ReadonlyMap<string, AccountTotals>;
  usedOnDay: ReadonlyMap<number, number>;
  ceiling: number;
  booked: readonly Booked[];
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
  const states: ChainState[] = [{ accounts: new Map(), usedOnDay: new Map(), ceiling, booked: [] }];
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
      states.push(transactions.reduce(execute, at(latest())));
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

export function totalsOf(state: Pick<ChainState, "accounts">, account: string): AccountTotals {
  return state.accounts.get(account) ?? { activated: 0, debited: 0, lastRoot: null };
}

function execute(state: ChainState, transaction: Transaction): ChainState {
  if (transaction.type === "ceiling") return { ...state, ceiling: transaction.limit };
  if (transaction.type === "settle") {
    return transaction.records.reduce((next, record) => book(next, { ...record, day: transaction.day }), state);
  }
  const { account, amount } = transaction;
  const totals = totalsOf(state, account);
  return { ...state, accounts: withTotals(state, account, { ...totals, activated: totals.activated + amount }) };
}

/** A record that starts at the account's total moves the total, up to the credit and the day's ceiling. */
function book(state: ChainState, record: Booked): ChainState {
  const totals = totalsOf(state, record.account);
  const used = state.usedOnDay.get(record.day) ?? 0;
  const amount = Math.min(record.amount, totals.activated - totals.debited, state.ceiling - used);
  if (record.before !== totals.debited || amount <= 0) return state;
  const debited = totals.debited + amount;
  return {
    ...state,
    accounts: withTotals(state, record.account, { ...totals, debited, lastRoot: record.root }),
    usedOnDay: new Map(state.usedOnDay).set(record.day, used + amount),
    booked: [...state.booked, { ...record, amount }],
  };
}

function withTotals({ accounts }: ChainState, account: string, totals: AccountTotals): Map<string, AccountTotals> {
  return new Map(accounts).set(account, totals);
}
