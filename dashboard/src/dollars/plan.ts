import type { AskedTransaction, Progress, Step } from "@inference/sdk/progress";

/** Dollars on their way to a balance, as the browser keeps them: nothing of it is lost by a reload. */
export type Plan = {
  chainId: number;
  /** In token units, 1e-6 dollar, as text. */
  amountToken: string;
  pay: "either" | "approve";
  /** Bought in the market, for at most so much in token units, as text; null or absent: minted at par. */
  maxCostToken?: string | null;
  /** Whether the tokens are there: they were minted or bought, or the wallet had them before. */
  isMinted: boolean;
  isCredited: boolean;
  /** What the wallet was asked to send and is not over. */
  kept: AskedTransaction | null;
  /** What the chain did not show when it was given up. It is looked for again before the wallet is asked anew. */
  unsent?: AskedTransaction[];
  /** How far the present step has come, for people. */
  shown: Shown | null;
  /** When it began, ms since the epoch. */
  startedAt: number;
};

export type Shown = {
  step: Step;
  stage: Progress["stage"];
  hash: string | null;
  /** Of an activation on its way: what has to happen next, and when it is over at the latest. */
  waitsFor: string | null;
  dueAt: string | null;
};

/** In the browser's storage, and of its lock. */
export const planName = (address: string): string => `dollars:${location.origin}:${address.toLowerCase()}`;

export function readPlan(address: string): Plan | null {
  try {
    return JSON.parse(localStorage.getItem(planName(address)) ?? "null") as Plan | null;
  } catch {
    return null;
  }
}

export function keepPlan(address: string, plan: Plan | null): void {
  if (plan === null) localStorage.removeItem(planName(address));
  else localStorage.setItem(planName(address), JSON.stringify(plan));
}

/** The plan after something has happened. */
export function advanced(plan: Plan, progress: Progress): Plan {
  const shown: Shown = {
    step: progress.step,
    stage: progress.stage,
    hash: "hash" in progress ? (progress.hash ?? null) : null,
    waitsFor: progress.stage === "waiting" ? progress.waitsFor : null,
    dueAt: progress.stage === "waiting" ? progress.dueAt : null,
  };
  const next = { ...plan, shown };
  switch (progress.stage) {
    case "asked": {
      const { stage: _, ...kept } = progress;
      return { ...next, kept };
    }
    case "sent":
      return plan.kept === null ? next : { ...next, kept: { ...plan.kept, hash: progress.hash } };
    case "confirmed":
      if (progress.step.startsWith("activate")) return next;
      return {
        ...{ ...next, kept: null, unsent: plan.unsent?.filter(({ step }) => step !== progress.step) ?? [] },
        isMinted: plan.isMinted || progress.step !== "approve",
      };
    case "credited":
      return { ...next, kept: null, isCredited: true };
    default:
      return next;
  }
}
