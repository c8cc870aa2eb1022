/** Something that keeps budgets on a file, opened inside the process that loads it. */
export interface LedgerTarget {
  readonly name: string;
  /** Ours are held to the goals. */
  readonly ours: boolean;
  /** Opens a new file with this much in it, every account with more credit than a run can spend. */
  open(options: LedgerOptions): Promise<OpenLedger>;
}

export interface LedgerOptions {
  /** An empty directory on a real disk, removed afterwards by the caller. */
  readonly directory: string;
  readonly accounts: number;
  /** Uses settled before the run, spread over the accounts. */
  readonly pastUses: number;
  readonly synchronous: Synchronous;
}

export type Synchronous = "FULL" | "NORMAL";

export interface OpenLedger {
  /** One reserve and its settle, each touching the account and the ceiling, each resolved only when it is durable. */
  pair(account: number): Promise<void>;
  close(): Promise<void>;
}
