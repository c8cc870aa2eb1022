import type { Hex } from "viem";
import type { NodeOf } from "../chain-clients.ts";
import type { Batch, Credits, ListedReceipt } from "../spending.ts";

/**
 * What the gateway and the chains said of an account at one time: all that the checks look at. It is JSON, so it can be
 * kept and judged again without a network. Amounts of chains are decimal strings, with the unit in the name.
 */
export type Evidence = {
  version: 3;
  /** RFC 3339. */
  madeAt: string;
  gateway: string;
  account: Hex;
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
    credits: Credits;
    receipts: ListedReceipt[];
    /** What was spent on each UTC day, in nano-dollars. Totals are kept when receipts are forgotten. */
    totals: Readonly<Record<string, number>>;
    /** How long it keeps receipts. */
    retentionDays: number;
    /** The batches with uses of the account, and those that debited it on chain. */
    batches: Batch[];
    /** By snapshot that a receipt names: the text of GET /prices/{snapshot}; null if it is not kept. */
    prices: Readonly<Record<string, string | null>>;
  };
  chain: ChainEvidence;
  books: BooksEvidence;
};

/** What the primary chain says of the account, at its last final block. */
export type ChainEvidence = {
  node: NodeOf;
  /** Whose word it is that no event is older than the first one that was read. */
  firstBlockBy: NodeOf;
  block: number;
  /** The block's time, RFC 3339: a clock that is not the gateway's. */
  at: string;
  creditNanoUsd: string;
  activations: { amountToken: string; block: number; transaction: Hex }[];
  debits: { batch: number; amountNanoUsd: string; block: number; transaction: Hex }[];
  /** By batch: the root that the contract stores; zero if it has none. */
  roots: Record<string, Hex>;
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
