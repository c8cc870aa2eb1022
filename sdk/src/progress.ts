/** The purpose of a transaction. */
export type Step =
  | "approve"
  | "mint"
  | "buy"
  | "activate"
  | "activateFrom"
  | "bridge"
  | "createAgent"
  | "setComputer"
  | "stake"
  | "reserve"
  | "unback"
  | "claim"
  | "exit"
  | "order"
  | "endOrder";

/** A transaction that a wallet was asked to send, as JSON. */
export type AskedTransaction = {
  step: Step;
  chainId: number;
  /** The chain's latest block before the wallet was asked. */
  fromBlock: number;
  /** The tokens that the transaction makes or burns; null: none. */
  moves: { from: `0x${string}`; to: `0x${string}`; amountToken: string } | null;
  /** The approved dollars, in the dollar's own units; absent or null: none. */
  allows?: { dollar: `0x${string}`; spender: `0x${string}`; amountDollar: string } | null;
  /** The wallet's hash; absent: not known yet. */
  hash?: `0x${string}`;
};

/**
 * The progress of a step.
 *
 * - `signed`: the transaction is made. Keep it: `resume` goes on from here after any interruption
 * - `asked`: a wallet that sends by itself is asked to. Keep this, and the hash that `sent` tells: `resume` takes both
 * - `sent`: a node has it
 * - `confirmed`: it is in a block
 * - `final`: its block cannot be undone
 * - `waiting`: the gateway sees an activation on its way, at a stage of `GET /api/v1/activations/{address}`
 * - `credited`: its dollars are in the balance
 */
export type Progress =
  | { stage: "signed"; step: Step; chainId: number; hash: `0x${string}`; serialized: `0x${string}` }
  | ({ stage: "asked" } & AskedTransaction)
  | { stage: "sent"; step: Step; chainId: number; hash: `0x${string}` }
  | { stage: "confirmed" | "final"; step: Step; chainId: number; hash: `0x${string}`; block: bigint }
  | {
      stage: "waiting";
      step: Step;
      hash: `0x${string}`;
      at: string;
      /** For people; null if the gateway does not say. */
      waitsFor: string | null;
      /** The latest time of the credit; null if it is not known. */
      dueAt: string | null;
    }
  | { stage: "credited"; step: Step; hash: `0x${string}` };

export type OnProgress = (progress: Progress) => void;
