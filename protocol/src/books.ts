/**
 * The sums of the token's contracts. `backing` must be the sum of the four fields below it. They are bigints, because
 * the sums of all chains may exceed `NanoUsd`.
 */
export type Books = {
  block: number;
  /** The block's time. */
  at: number;
  backingNanoUsd: bigint;
  /** The supply on the primary chain. */
  supplyNanoUsd: bigint;
  /** Activated and not settled on the chain. */
  creditNanoUsd: bigint;
  /** Settled and not paid out. */
  owedNanoUsd: bigint;
  /** The lines of the secondary chains. */
  linesNanoUsd: bigint;
};
