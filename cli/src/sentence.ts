import { ownValue } from "@inference/protocol/own-value";
import type { ContractError } from "@inference/sdk";

/** Sentences for some errors of contracts, with a remedy. The others are shown by their names. */
const meanings: Readonly<Record<string, (args: readonly unknown[]) => string>> = {
  ERC20InsufficientBalance: ([, has, needed]) =>
    `The account has too little to pay with: ${has} of ${needed}, in the token's smallest unit. \`infer wallet\` shows what it has.`,
  ERC20InsufficientAllowance: ([, allowed, needed]) =>
    `The contract may take ${allowed} of ${needed}, in the token's smallest unit: run the command again to approve.`,
  ERC2612ExpiredSignature: () => "The signed permit is too old: run the command again.",
  ZeroAmount: () => "The amount is zero.",
  AboveDailyMintCap: ([amount, cap]) =>
    `A secondary chain takes at most ${cap} token units a day, and this is ${amount}: send it in parts.`,
  Paused: ([until]) => `The contract is paused until ${new Date(Number(until) * 1_000).toISOString()}.`,
  UnknownAgent: ([agent]) => `The registry has created no agent ${agent}.`,
  OnlyAgentOwner: () => "Only the agent's owner may do this.",
  OwnableUnauthorizedAccount: () => "Only the agent's owner may do this.",
  ComputerTaken: ([computer, agent]) => `${computer} is the computer of another agent, ${agent}.`,
  InvalidProof: () => "The computer's proof is not valid for this agent and owner.",
};

export function sentenceOf({ errorName, args, message }: ContractError): string {
  const meaning = errorName === null ? undefined : ownValue(meanings, errorName);
  return meaning === undefined ? message : `${meaning(args)} Nothing was sent (${errorName}).`;
}
