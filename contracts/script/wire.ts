import type { Abi, Address } from "viem";

/** The expected answer of a call if the contracts are wired as configured. */
export interface Wire {
  readonly address: Address;
  readonly abi: Abi;
  readonly functionName: string;
  readonly args?: readonly unknown[];
  /** The relevant part of an answer with several parts. */
  readonly part?: string | number;
  /** Absent where any answer is right, but a revert is not. */
  readonly expected?: unknown;
  /** For a third-party contract that may lack the function: a revert is then ignored. */
  readonly mayRevert?: true;
}
