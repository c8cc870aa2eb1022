import type { Abi, Address } from "viem";

/** What a call must answer if the contracts are wired as the configuration says. */
export interface Wire {
  readonly address: Address;
  readonly abi: Abi;
  readonly functionName: string;
  readonly args?: readonly unknown[];
  /** Of an answer with several parts, the one that is meant. */
  readonly part?: string | number;
  readonly expected: unknown;
  /** Of a contract of others, which need not have the function: a call that reverts says nothing then. */
  readonly mayRevert?: true;
}
