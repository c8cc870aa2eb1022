import { formatDecimal } from "@inference/protocol/money";
import { ownValue } from "@inference/protocol/own-value";
import type { ContractError } from "@inference/sdk";
import { dollars } from "./money.ts";

/** Sentences for some errors of contracts, with a remedy. The others are shown by their names. */
const meanings: Readonly<Record<string, (args: readonly unknown[]) => string>> = {
  ERC20InsufficientAllowance: ([, allowed, needed]) =>
    `The contract may take ${allowed} of ${needed}, in the token's smallest unit: run the command again to approve.`,
  ERC2612ExpiredSignature: () => "The signed permit is too old: run the command again.",
  ZeroAmount: () => "The amount is zero.",
  AboveDailyMintCap: ([amount, cap]) =>
    `A secondary chain takes at most ${dollars(cap as bigint)} a day, and this is ${dollars(amount as bigint)}: send it in parts.`,
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

function units(amount: unknown): string {
  return `${formatDecimal(amount as bigint, 18)} units`;
}

export function sentenceOf({ errorName, args, message }: ContractError): string {
  const meaning = errorName === null ? undefined : ownValue(meanings, errorName);
  return meaning === undefined ? message : `${meaning(args)} Nothing was sent (${errorName}).`;
}
