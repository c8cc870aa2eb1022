import type { Evidence } from "./evidence.ts";

export type Found = {
  outcome: "pass" | "fail" | "skipped";
  /** The finding, or the reason for skipping. */
  detail: string;
  /** The parties that the outcome relies on. */
  trusts: readonly string[];
};

type Finder = (detail: string, trusts?: readonly string[]) => Found;

export const passed: Finder = (detail, trusts = []) => ({ outcome: "pass", detail, trusts });
export const failed: Finder = (detail, trusts = []) => ({ outcome: "fail", detail, trusts });
export const skipped: Finder = (detail, trusts = []) => ({ outcome: "skipped", detail, trusts });

/** The gateway, unless the client named the contract's address. */
export function forAddress({ contract }: Evidence): string[] {
  return contract.isPinned ? [] : ["the gateway, for the contract's address"];
}

/** The parties that a check of the primary chain relies on. */
export function forChain(evidence: Evidence): string[] {
  return [`a node that ${evidence.chain?.node} chose`, ...forAddress(evidence)];
}

/** The gateway, for the first block of the events, unless a node told it. */
export function forFirstBlock({ firstBlockBy }: { firstBlockBy: string }): string[] {
  return firstBlockBy === "the gateway" ? ["the gateway, that no event is older than its first block"] : [];
}

/** Why a check is skipped that needs the whole account and the chain. */
export const NOT_WHOLE = "it needs the whole account and a node";

/** Why a check is skipped that needs the chain. */
export const NO_NODE = "no node was asked: name one of your own";
