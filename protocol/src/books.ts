/**
 * What the token's contracts keep, where `backing` is to be the sum of the four below it. All chains together may have
 * more than an amount of ours can be.
 */
export type Books = {
  block: number;
  /** The block's time. */
  at: number;
  backingNanoUsd: bigint;
  /** Of tokens on the primary chain. */
  supplyNanoUsd: bigint;
  /** Activated, and not settled on the chain. */
  creditNanoUsd: bigint;
  /** Settled, and not paid out. */
  owedNanoUsd: bigint;
  /** What the secondary chains' tokens are backed with. */
  linesNanoUsd: bigint;
};
