import {
  type Connection,
  ContractError,
  isOver,
  type OnProgress,
  type Progress,
  resume,
  type SendOptions,
  type SignedTransaction,
  type Step,
} from "@inference/sdk";
import { type Hash, type Hex, parseTransaction } from "viem";
import * as z from "zod";
import type { Context } from "./context.ts";
import { beginPaying } from "./one-payer.ts";
import { readKept } from "./state-folder.ts";

/**
 * Unfinished transactions. Each is stored before it is sent, until the command has printed its result. The next run of
 * a paying command finishes it: nothing is paid twice, and nothing is lost.
 */
const FOLDER = "pending";

const schema = z.strictObject({
  gateway: z.string(),
  account: z.string(),
  /** The command with its amounts, chains and recipient, as a person types it. The same intent is paid once. */
  intent: z.string(),
  madeAt: z.iso.datetime(),
  signed: z.strictObject({
    step: z.string().transform((step) => step as Step),
    chainId: z.int(),
    hash: z.string().transform((hash) => hash as Hash),
    serialized: z.string().transform((serialized) => serialized as Hex),
  }),
});
export type Pending = z.infer<typeof schema>;

type Owner = Connection & { account: { address: string } };

/** The output of every command that pays. */
export const paidOutput = {
  chain_id: z.int(),
  hash: z.string().describe("Of the transaction."),
  is_resumed: z.boolean().describe("Whether an earlier run had begun it."),
};
export type Paid = { chain_id: number; hash: Hash; is_resumed: boolean };

/**
 * Pays for an intent once. First finishes the account's transactions of earlier runs: one with the same intent ends the
 * payment. Otherwise `act` sends, with options that store each transaction before sending.
 */
export async function payOnce(
  context: Context,
  connection: Owner,
  intent: string,
  act: (options: SendOptions) => Promise<{ hash: Hash }>,
): Promise<Paid> {
  const endPaying = beginPaying(context, connection.account.address);
  try {
    return await pay(context, connection, intent, act);
  } finally {
    endPaying();
  }
}

async function pay(
  context: Context,
  connection: Owner,
  intent: string,
  act: Parameters<typeof payOnce>[3],
): Promise<Paid> {
  for (const left of pendingOf(context, connection)) {
    const hash = await finish(context, connection, left);
    if (hash !== undefined && left.intent === intent && left.signed.step !== "approve") {
      context.afterOutput.push(() => forget(context, left));
      return { chain_id: left.signed.chainId, hash, is_resumed: true };
    }
    forget(context, left);
  }
  const { keeper, kept } = keeperOf(context, connection, intent);
  try {
    const { hash } = await act({ onProgress: keeper });
    context.afterOutput.push(() => kept.forEach((each) => void forget(context, each)));
    return { chain_id: kept.at(-1)?.signed.chainId ?? 0, hash, is_resumed: false };
  } catch (error) {
    // It reverted in a block: nothing is left to finish.
    if (error instanceof ContractError && error.hash !== null) for (const each of kept) forget(context, each);
    throw error;
  }
}

/** Whether any account has a transaction that is not finished. */
export function hasPending(folder: Context["folder"]): boolean {
  return folder.list(FOLDER).length > 0;
}

/** The account's unfinished transactions at the gateway, the oldest first. */
export function pendingOf({ folder }: Context, { gateway, account }: Owner): Pending[] {
  return readKept(folder, FOLDER, schema)
    .filter((each) => each.gateway === gateway && each.account === account.address)
    .sort((one, other) => nonceOf(one) - nonceOf(other) || (one.madeAt < other.madeAt ? -1 : 1));
}

/** Waits for a transaction's end, and sends it again if no node has it. Undefined: it paid nothing and never will. */
export async function finish(context: Context, connection: Owner, left: Pending): Promise<Hash | undefined> {
  const { intent, signed } = left;
  context.say(`Going on with \`infer ${intent}\`, which was interrupted (${signed.step}, ${signed.hash}).`);
  try {
    return (await resume(connection, signed, { onProgress: (progress) => context.say(lineOf(progress)) })).hash;
  } catch (error) {
    if (!(await isOver(connection, signed, error))) {
      context.say("Nothing else is paid before it has ended. `infer resume` tries again, with --forget it is dropped.");
      throw error;
    }
    const isReverted = error instanceof ContractError && error.hash !== null;
    context.say(isReverted ? error.message : "Another transaction took its place: it paid nothing.");
    return undefined;
  }
}

export function forget({ folder }: Context, { signed }: Pending): void {
  folder.remove(fileOf(signed));
}

/** Stores each signed transaction. If it cannot be stored, it throws, and nothing is sent. */
function keeperOf(context: Context, { gateway, account }: Owner, intent: string) {
  const kept: Pending[] = [];
  const keeper: OnProgress = (progress) => {
    if (progress.stage === "signed") {
      const { step, chainId, hash, serialized } = progress;
      const signed: SignedTransaction = { step, chainId, hash, serialized };
      const pending = { gateway, account: account.address, intent, madeAt: new Date().toISOString(), signed };
      context.folder.writeJson(fileOf(signed), pending);
      kept.push(pending);
    }
    context.say(lineOf(progress));
    // Nothing is left to finish: the next step reads the allowance.
    const approved = kept.at(-1);
    if (progress.stage === "confirmed" && progress.step === "approve" && approved !== undefined) {
      forget(context, approved);
    }
  };
  return { keeper, kept };
}

function fileOf({ chainId, hash }: SignedTransaction): string {
  return `${FOLDER}/${chainId}-${hash}.json`;
}

function nonceOf({ signed }: Pending): number {
  return parseTransaction(signed.serialized).nonce ?? 0;
}

/** The line for a person. */
function lineOf(progress: Progress): string {
  const { stage } = progress;
  const step = words[progress.step];
  if (stage === "signed") return `${step}: signed, ${progress.hash} on chain ${progress.chainId}`;
  if (stage === "confirmed") return `${step}: confirmed in block ${progress.block}`;
  if (stage !== "waiting") return `${step}: ${stage}`;
  const { at, waitsFor, dueAt } = progress;
  return `${step}: waiting. ${waitsFor ?? at}${dueAt === null ? "" : ` Until ${dueAt} at the latest.`}`;
}

/** The command of each step. */
const words: Readonly<Record<Step, string>> = {
  ...{ approve: "approve", mint: "mint", buy: "buy", activate: "activate", activateFrom: "activate", bridge: "bridge" },
  ...{ createAgent: "create", setComputer: "computer", stake: "stake", reserve: "reserve" },
  ...{ unback: "unstake", claim: "claim", exit: "exit", order: "auto-top-up", endOrder: "auto-top-up" },
};
