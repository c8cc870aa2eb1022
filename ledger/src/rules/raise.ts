import type { NanoUsd } from "@inference/protocol/money";

/** The state of a shared limit on a day, and what an account holds of it and asks for. */
export type Raise = {
  day: number;
  /** What all accounts used, and what the others are allowed and did not use. */
  settledNanoUsd: NanoUsd;
  othersNanoUsd: NanoUsd;
  ownNanoUsd: NanoUsd;
  amountNanoUsd: NanoUsd;
  offer: string | null;
};
