import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { Wallet } from "../wallet/wallet.ts";
import { readPlan } from "./plan.ts";
import { type PlanRunner, type PlanView, planRunner } from "./plan-runner.ts";

export type PlanState = PlanView & Omit<PlanRunner, "open" | "close">;

/** The plan of this wallet. One that was interrupted goes on by itself as far as the wallet need not be asked. */
export function usePlan({ address, acting }: Wallet): PlanState {
  const [view, setView] = useState<PlanView>(() => ({
    ...{ plan: readPlan(address), isRunning: false, isElsewhere: false, error: undefined },
  }));
  const runner = useRef<PlanRunner>(null);
  const queries = useQueryClient();

  useEffect(() => {
    const own = planRunner(acting, address, setView);
    runner.current = own;
    own.open();
    return () => own.close();
  }, [address, acting]);

  useEffect(() => {
    if (view.isRunning) return;
    void queries.invalidateQueries({ queryKey: ["holdings"] });
    void queries.invalidateQueries({ queryKey: ["own"] });
  }, [view.isRunning, queries]);

  return {
    ...view,
    begin: (plan) => runner.current?.begin(plan),
    goOn: (change) => runner.current?.goOn(change),
    stop: () => runner.current?.stop(),
    notSent: () => runner.current?.notSent(),
    clear: () => runner.current?.clear(),
  };
}
