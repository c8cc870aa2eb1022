/** What a transaction does. */
export type Step = "approve" | "mint" | "activate" | "activateFrom" | "bridge";

/**
 * How far a step has come.
 *
 * - `signed`: the transaction is made. Keep it: `resume` goes on from here after any interruption
 * - `sent`: a node has it
 * - `confirmed`: it is in a block
 * - `final`: its block cannot be undone
 * - `waiting`: the gateway sees an activation on its way, at a stage of `GET /api/v1/activations/{address}`
 * - `credited`: its dollars are in the balance
 */
export type Progress =
  | { stage: "signed"; step: Step; chainId: number; hash: `0x${string}`; serialized: `0x${string}` }
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
