/** One `Settled` event, with the `Debited` and `Served` events before it. Amounts in nano-dollars, decimal strings. */
export type SettledBatch = {
  id: number;
  /** The UTC day whose ceiling paid. */
  day: string;
  root: string;
  amountNanoUsd: string;
  paidAfterNanoUsd: string;
  totalDebitedNanoUsd: string;
  /** What it debited from each account. */
  debits: readonly { account: string; amountNanoUsd: string }[];
  /** `entriesDigest` of its entries. */
  entries: string;
  block: number;
  transaction: string;
};

/** In nano-dollars, a decimal string. */
export type AccountCredit = { account: string; creditNanoUsd: string };
