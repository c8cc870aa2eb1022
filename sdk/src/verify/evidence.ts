import type { Hex } from "viem";
import type { NodeOf } from "../chain-clients.ts";
import type { BookedRecord, Credits, ListedReceipt, StatementUse } from "../spending.ts";

/**
 * What the gateway and the chains said of an account at one time: all that the checks look at. It is JSON, so it can be
 * kept and judged again without a network. Amounts of chains are decimal strings, with the unit in the name.
 */
export type Evidence = {
  version: 4;
  /** RFC 3339. */
  madeAt: string;
  gateway: string;
  account: Hex;
  /** The UTC days of a bill, both included. Null: all that the account was ever charged. */
  period: Period | null;
  contract: {
    chainId: number;
    /** The settlement contract that was asked. */
    address: Hex;
    /** Where the gateway says that it is; null: it does not say. */
    named: string | null;
    /** Whether the address is the client's own. */
    isPinned: boolean;
  };
  /** What the gateway says. */
  said: {
    /** The final debits: all, or those of a bill's statements. */
    records: BookedRecord[];
    /** In order of settlement: all, or those of a bill's statements and of its days. */
    uses: StatementUse[];
    receipts: ListedReceipt[];
    /** How long it keeps receipts. */
    retentionDays: number;
    /** By snapshot that a use or a receipt names: the text of GET /prices/{snapshot}; null if it is not kept. */
    prices: Readonly<Record<string, string | null>>;
    /** Null in a bill. */
    balance: {
      credits: Credits;
      /** What was spent on each UTC day, in nano-dollars. Totals are kept when receipts are forgotten. */
      totals: Readonly<Record<string, number>>;
      /** Why what is not final waits. */
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

/** What the primary chain says of the account, at its last final block. */
export type ChainEvidence = {
  node: NodeOf;
  block: number;
  /** The block's time, RFC 3339: a clock that is not the gateway's. */
  at: string;
  activatedNanoUsd: string;
  debitedNanoUsd: string;
  servedNanoUsd: string;
  /** The part of the tenths that nobody has pulled. */
  owedBackNanoUsd: string;
  receiptKey: Hex;
  /** By chunk root that a record names: the block that the contract stores; 0 if it stores none. */
  blocks: Record<string, number>;
};
/** The books of all chains, each at its last final block. */
export type BooksEvidence = {
  primary: Record<"backingNanoUsd" | "supplyNanoUsd" | "creditNanoUsd" | "owedNanoUsd" | "linesNanoUsd", string> & {
    node: NodeOf;
    /** Whose word it is that the minter booked nothing before the first block that was read. */
    firstBlockBy: NodeOf;
    /** The dollars that the minter really has. */
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
  /** It could not be read, and why. */
  | { chainId: number; unread: string };
export type ReadSecondary = Exclude<SecondaryEvidence, { unread: string }>;
