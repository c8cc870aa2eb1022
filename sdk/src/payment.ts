import { activateFrom } from "./activate.ts";
import type { Connection } from "./connection.ts";
import { ClientError, ContractError } from "./errors.ts";
import { buy } from "./market.ts";
import { mint } from "./mint.ts";
import type { AskedTransaction, Progress, Step } from "./progress.ts";
import { resume } from "./resume.ts";
import { isReplaced, type SignedTransaction } from "./send.ts";
import { findAsked } from "./wallet-transaction.ts";

/**
 * The payment machine: dollars or tokens of a wallet become balance. `Payment` is the whole state, as JSON. A program
 * keeps each state, shows `phaseOf`, and calls `runPayment` again after any interruption: nothing is paid twice.
 */
export type Payment = {
  chainId: number;
  /** In token units, 1e-6 dollar, as text. */
  amountToken: string;
  pay: "either" | "approve";
  /** The most to pay in the market, in token units, as text. Null or absent: the tokens are minted at par. */
  maxCostToken?: string | null;
  /** The account has the tokens: they were minted, bought, or there before. */
  isMinted: boolean;
  isCredited: boolean;
  /** The transaction that has begun and not ended. */
  kept: BegunTransaction | null;
  /** Transactions that were given up. They are looked for again before the wallet is asked anew. */
  unsent?: AskedTransaction[];
  /** The last progress of the present step, for people. */
  shown: ShownProgress | null;
};

/** A signed transaction, or one that a wallet was asked to send. `resume` takes both. */
export type BegunTransaction = SignedTransaction | AskedTransaction;

type ShownProgress = {
  step: Step;
  stage: Progress["stage"];
  hash: string | null;
  /** For an activation on its way: the next event, and the latest time of its end. */
  waitsFor: string | null;
  dueAt: string | null;
};

export type PaymentOptions = {
  /** Stores a state, before anything else happens. */
  keep(payment: Payment): void;
  /** Whether new transactions may be signed. A page that was loaded again waits until its reader continues. */
  mayAsk: boolean;
  signal: AbortSignal;
};

/** The steps of a payment as people see them, in their order. */
export const phases = ["pay", "activate", "final", "credit"] as const;

/** The phase that a payment is in. `done`: the balance has the dollars. */
export function phaseOf({ isMinted, isCredited, kept, shown }: Payment): (typeof phases)[number] | "done" {
  if (isCredited) return "done";
  if (!isMinted) return "pay";
  if (!isActivation(kept) || kept?.hash === undefined || shown === null) return "activate";
  if (shown.stage === "asked" || shown.stage === "signed") return "activate";
  return shown.stage === "final" || shown.stage === "waiting" ? "credit" : "final";
}

/** Whether the chain has used up the tokens: the rest happens without this program. */
export function isBurned({ kept, shown }: Payment): boolean {
  return isActivation(kept) && ["confirmed", "final", "waiting"].includes(shown?.stage ?? "");
}

const isActivation = (kept: BegunTransaction | null): boolean => kept?.step.startsWith("activate") === true;

/**
 * Continues a payment to its end, or to the next transaction if `mayAsk` is false. Throws what its steps throw. The
 * state that was kept last then says whether a transaction may still be on its way.
 */
export async function runPayment(connection: Connection, given: Payment, options: PaymentOptions): Promise<Payment> {
  const { keep, mayAsk, signal } = options;
  let payment = given;
  const set = (next: Payment): void => {
    payment = next;
    keep(next);
  };
  const onProgress = (progress: Progress): void => set(afterProgress(payment, progress));
  const step = { amountToken: BigInt(payment.amountToken), chainId: payment.chainId, onProgress, signal };
  try {
    if (payment.kept === null && mayAsk) set(await withFound(connection, payment));
    if (payment.kept !== null) await resume(connection, payment.kept, { onProgress, signal });
    if (!payment.isMinted && mayAsk) {
      const { pay, maxCostToken = null } = payment;
      const order = { ...step, ...(pay === "approve" ? { pay } : {}) };
      if (maxCostToken === null) await mint(connection, order);
      else await buy(connection, { ...order, maxCostToken: BigInt(maxCostToken) });
    }
    if (payment.isMinted && !payment.isCredited && mayAsk) await activateFrom(connection, step);
  } catch (error) {
    const isEnded = !signal.aborted && payment.kept !== null && (await isOver(connection, payment.kept, error));
    if (isEnded) set({ ...payment, kept: null });
    throw error;
  }
  return payment;
}

/**
 * Gives up what a wallet was asked to send, unless the chain shows it: then the payment has its hash and can go on. A
 * signed transaction cannot be given up.
 */
export async function giveUp(connection: Connection, payment: Payment): Promise<Payment> {
  const { kept, unsent = [] } = payment;
  if (kept === null || "serialized" in kept) return payment;
  const hash = await findAsked(connection, kept);
  if (hash !== null) return { ...payment, kept: { ...kept, hash } };
  const { hash: _, ...asked } = kept;
  return { ...payment, kept: null, shown: null, unsent: [...unsent, asked] };
}

/**
 * Whether a transaction whose `resume` failed has done nothing and never will: its owner declined it, it reverted, or
 * another one took its nonce. After any other error it may still be on its way.
 */
export async function isOver(connection: Connection, begun: BegunTransaction, error: unknown): Promise<boolean> {
  if (error instanceof ContractError) {
    return error.hash !== null || ("serialized" in begun && (await isReplaced(connection, begun)));
  }
  if (!(error instanceof ClientError) || begun.hash !== undefined) return false;
  return error.code === "wallet_rejected" || error.code === "lost_transaction";
}

function afterProgress(payment: Payment, progress: Progress): Payment {
  const shown: ShownProgress = {
    step: progress.step,
    stage: progress.stage,
    hash: progress.hash ?? null,
    waitsFor: progress.stage === "waiting" ? progress.waitsFor : null,
    dueAt: progress.stage === "waiting" ? progress.dueAt : null,
  };
  const next = { ...payment, shown };
  switch (progress.stage) {
    case "signed":
    case "asked": {
      const { stage: _, ...kept } = progress;
      return { ...next, kept };
    }
    case "sent":
      return payment.kept === null ? next : { ...next, kept: { ...payment.kept, hash: progress.hash } };
    case "confirmed":
      if (isActivation(payment.kept)) return next;
      return {
        ...{ ...next, kept: null, unsent: payment.unsent?.filter(({ step }) => step !== progress.step) ?? [] },
        isMinted: payment.isMinted || progress.step !== "approve",
      };
    case "credited":
      return { ...next, kept: null, isCredited: true };
    default:
      return next;
  }
}

/** Takes up a transaction that was given up and sent since: its request may have stayed open in the wallet. */
async function withFound(connection: Connection, payment: Payment): Promise<Payment> {
  const { unsent = [] } = payment;
  for (const asked of unsent) {
    const hash = await findAsked(connection, asked);
    if (hash !== null) return { ...payment, kept: { ...asked, hash }, unsent: unsent.filter((each) => each !== asked) };
  }
  return payment;
}
