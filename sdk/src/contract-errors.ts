import { ownValue } from "@inference/protocol/own-value";
import { shownAmount } from "./funds.ts";

/** Sentences for some errors of contracts, with a remedy. The others are shown by their names. */
const meanings: Readonly<Record<string, (args: readonly unknown[]) => string>> = {
  ERC20InsufficientAllowance: ([, allowed, needed]) =>
    `The contract may take ${allowed} of ${needed}, in the token's smallest unit: try again to approve.`,
  ERC2612ExpiredSignature: () => "The signed permit is too old: try again.",
  ZeroAmount: () => "The amount is zero.",
  AboveDailyMintCap: ([amount, cap]) =>
    `A secondary chain takes at most ${dollars(cap)} a day, and this is ${dollars(amount)}: send it in parts.`,
  Paused: ([until]) => `The contract is paused until ${time(until)}.`,
  UnknownAgent: ([agent]) => `The registry has created no agent ${agent}.`,
  OnlyAgentOwner: () => "Only the agent's owner may do this.",
  OwnableUnauthorizedAccount: () => "Only the agent's owner may do this.",
  ComputerTaken: ([computer, agent]) => `${computer} is the computer of another agent, ${agent}.`,
  InsufficientBacking: ([asked, backed]) =>
    `You back this agent with ${units(backed)}, which is less than ${units(asked)}.`,
  ExitNotReady: ([, readyAt]) => `The stake can be withdrawn from ${time(readyAt)} on.`,
  UnknownExit: () => "There is no such exit, or it is paid already.",
  InvalidProof: () => "The computer's proof is not valid for this agent and owner.",
};

function time(seconds: unknown): string {
  return new Date(Number(seconds) * 1_000).toISOString();
}

const dollars = (amount: unknown): string => shownAmount(amount as bigint, 6, "$");
const units = (amount: unknown): string => shownAmount(amount as bigint, 18, "units");

/** The meaning of a contract's error, for a call that was simulated and not sent. */
export function refusalSentence(errorName: string, args: readonly unknown[]): string {
  const meaning =
    ownValue(meanings, errorName)?.(args) ?? `The contract would refuse: ${errorName}(${args.join(", ")}).`;
  return `${meaning} Nothing was sent.`;
}
