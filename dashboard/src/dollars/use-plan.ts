import { ClientError, ContractError } from "@inference/sdk/errors";
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import type { Wallet } from "../wallet/wallet.ts";
import { keepPlan, type Plan, readPlan } from "./plan.ts";
import { runPlan } from "./run.ts";

export type PlanState = {
  plan: Plan | null;
  isRunning: boolean;
  error: unknown;
  /** Begins one, or goes on with it; the wallet may be asked. */
  run(plan: Plan): void;
  /** Forgets what the wallet was asked, which it did not send. */
  askAgain(): void;
  /** Forgets the plan. */
  clear(): void;
};

/** The plan of this wallet. One that was interrupted goes on by itself as far as the wallet need not be asked. */
export function usePlan({ address, acting }: Wallet): PlanState {
  const [plan, setPlan] = useState(() => readPlan(address));
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<unknown>();
  const ending = useRef(new AbortController());
  const queries = useQueryClient();

  const start = useCallback(
    (from: Plan, mayAsk: boolean): void => {
      ending.current.abort();
      const own = new AbortController();
      ending.current = own;
      const keep = (next: Plan): void => {
        if (own.signal.aborted) return;
        keepPlan(address, next);
        setPlan(next);
      };
      keep(from);
      setRunning(true);
      setError(undefined);
      runPlan(acting, from, { keep, mayAsk, signal: own.signal })
        .catch((caught: unknown) => {
          if (own.signal.aborted) return;
          setError(caught);
          const now = readPlan(address);
          if (now !== null && isOver(caught)) keep({ ...now, kept: null });
        })
        .finally(() => {
          if (own.signal.aborted) return;
          setRunning(false);
          void queries.invalidateQueries({ queryKey: ["holdings"] });
          void queries.invalidateQueries({ queryKey: ["own"] });
        });
    },
    [address, acting, queries],
  );

  useEffect(() => {
    const kept = readPlan(address);
    setPlan(kept);
    if (kept !== null && kept.kept !== null && !kept.isCredited) start(kept, false);
    return () => ending.current.abort();
  }, [address, start]);

  return {
    plan,
    isRunning,
    error,
    run: (from) => start(from, true),
    askAgain() {
      ending.current.abort();
      setRunning(false);
      if (plan === null) return;
      const next = { ...plan, kept: null };
      keepPlan(address, next);
      setPlan(next);
    },
    clear() {
      ending.current.abort();
      setRunning(false);
      setError(undefined);
      keepPlan(address, null);
      setPlan(null);
    },
  };
}

/** Whether nothing of it is on its way any more: the wallet refused, or the transaction failed. */
function isOver(error: unknown): boolean {
  if (error instanceof ContractError) return error.hash !== null;
  return error instanceof ClientError && (error.code.startsWith("wallet_") || error.code === "lost_transaction");
}
