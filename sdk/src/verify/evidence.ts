import type { Hex } from "viem";
import type { NodeOf } from "../chain-clients.ts";
import type { BookedRecord, Credits, ListedReceipt, StatementUse } from "../spending.ts";

/**
 * The statements of gateway and chains about an account at one time, for the checks. As JSON, the evidence can be
 * stored and judged again without a network. Amounts of chains are decimal strings, with the unit in the name.
 */
export type Evidence = {
  version: 4;
  /** RFC 3339. */
  madeAt: string;
  gateway: string;
  account: Hex;
  /** The UTC days of a bill, both included. Null: the whole account. */
  period: Period | null;
  contract: {
    chainId: number;
    address: Hex;
    /** The address that the gateway names; null: none. */
    named: string | null;
    /** Whether the address is the client's own. */
    isPinned: boolean;
  };
  said: {
    /** The final debits: all, or those of a bill's statements. */
    records: BookedRecord[];
    /** In order of settlement: all, or those of a bill's statements and of its days. */
    uses: StatementUse[];
    receipts: ListedReceipt[];
    /** The gateway's retention of receipts. */
    retentionDays: number;
    /** By the snapshot that uses and receipts name: the text of GET /prices/{snapshot}; null: deleted. */
    prices: Readonly<Record<string, string | null>>;
    /** Null in a bill. */
    balance: {
      credits: Credits;
      /** The spending of each UTC day, in nano-dollars. Totals outlive receipts. */
      totals: Readonly<Record<string, number>>;
      /** The reason why the open statement waits. */
      waitingFor: string | null;
    } | null;
  };
  /** Null: no node was asked. */
  chain: ChainEvidence | null;
  /** Null in a bill. */
  books: BooksEvidence | null;
  log: RequestLog | null;
};

export type Period = { from: string; to: string };

/** The signed receipts that the customer kept. */
export type RequestLog = {
  receipts: readonly string[];
  /** Whether it has every request of the account since its first receipt. */
  isComplete: boolean;
};

/** The account on the primary chain, at the last final block. */
export type ChainEvidence = {
  node: NodeOf;
  block: number;
  /** The block's time, RFC 3339: a clock that is not the gateway's. */
  at: string;
  activatedNanoUsd: string;
  debitedNanoUsd: string;
  servedNanoUsd: string;
  /** The part of the rebates that was not pulled. */
  owedBackNanoUsd: string;
  receiptKey: Hex;
  /** By chunk root that a record names: the block that the contract stores; 0 if it stores none. */
  blocks: Record<string, number>;
};
/** Supply and reserves of all chains, each at its last final block. */
export type BooksEvidence = {
  primary: Record<"backingNanoUsd" | "supplyNanoUsd" | "creditNanoUsd" | "owedNanoUsd" | "linesNanoUsd", string> & {
    node: NodeOf;
    /** The source of the first block of the minter's events. */
    firstBlockBy: NodeOf;
    dollarsToken: string;
    /** The lines of the secondary chains that are listed here. */
    listedLinesNanoUsd: string;
  };
  secondaries: SecondaryEvidence[];
};
export type SecondaryEvidence =
  | ({ chainId: number; node: NodeOf } & Record<
      "supplyToken" | "lineToken" | "giftedToken" | "outboxToken" | "flushedToken" | "bookedToken" | "dollarsToken",
      string
    >)
  /** The chain could not be read, for this reason. */
  | { chainId: number; unread: string };
export type ReadSecondary = Exclude<SecondaryEvidence, { unread: string }>;
