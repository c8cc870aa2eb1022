/** What a transaction does. */
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
  | "reserve";

/** What a wallet was asked to send, as JSON. */
export type AskedTransaction = {
  step: Step;
  chainId: number;
  /** The chain's latest block before the wallet was asked. */
  fromBlock: number;
  /** The tokens that it makes or burns; null: none. */
  moves: { from: `0x${string}`; to: `0x${string}`; amountToken: string } | null;
  /** The dollars that it lets a contract take, in the dollar's own units; absent or null: none. */
  allows?: { dollar: `0x${string}`; spender: `0x${string}`; amountDollar: string } | null;
  /** As the wallet named it; absent: it did not yet. */
  hash?: `0x${string}`;
};

/**
 * How far a step has come.
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
      /** When it is credited at the latest if all works; null if that is not known. */
      dueAt: string | null;
    }
  | { stage: "credited"; step: Step; hash: `0x${string}` };

export type OnProgress = (progress: Progress) => void;
