import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { Wallet } from "../wallet/wallet.ts";
import { idleView, type PaymentRunner, type PaymentView, paymentRunner } from "./payment-runner.ts";

export type PaymentState = PaymentView & Omit<PaymentRunner, "open" | "close">;

/** The wallet's payment. An interrupted one continues by itself until the wallet has to be asked. */
export function usePayment({ address, acting }: Wallet): PaymentState {
  const [view, setView] = useState<PaymentView>(() => idleView(address));
  const runner = useRef<PaymentRunner>(null);
  const queries = useQueryClient();

  useEffect(() => {
    const own = paymentRunner(acting, address, setView);
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
    begin: (payment) => runner.current?.begin(payment),
    goOn: (change) => runner.current?.goOn(change),
    stop: () => runner.current?.stop(),
    notSent: () => runner.current?.notSent(),
    clear: () => runner.current?.clear(),
  };
}
