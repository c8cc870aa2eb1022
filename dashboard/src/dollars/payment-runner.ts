import type { Connection } from "@inference/sdk/connection";
import { giveUp, type Payment, runPayment } from "@inference/sdk/payment";
import { keepPayment, paymentName, readPayment } from "./payment-store.ts";

/** A wallet's payment as a page shows it. */
export type PaymentView = {
  payment: Payment | null;
  isRunning: boolean;
  /** Another tab runs it. */
  isElsewhere: boolean;
  error: unknown;
};

export type PaymentRunner = {
  /** Continues the stored payment, without new requests to the wallet. */
  open(): void;
  /** Begins a payment unless one is stored. The wallet may be asked. */
  begin(payment: Payment): void;
  /** Continues the stored payment with a change. The wallet may be asked. */
  goOn(change?: Partial<Payment>): void;
  /** Stops waiting. The payment stays stored. */
  stop(): void;
  /** Looks for the transaction on the chain, and gives it up if the chain does not show it. */
  notSent(): void;
  /** Deletes the stored payment. */
  clear(): void;
  /** Stops waiting when the page closes. */
  close(): void;
};

export function idleView(address: string): PaymentView {
  return { payment: readPayment(address), isRunning: false, isElsewhere: false, error: undefined };
}

/** The last run of this tab. It ends when it is aborted. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a wallet's payment in one tab of the browser at a time. Each run holds a lock, and reads the stored payment once
 * it has the lock.
 */
export function paymentRunner(
  connection: Connection,
  address: string,
  tell: (view: PaymentView) => void,
): PaymentRunner {
  let view = idleView(address);
  let ending = new AbortController();

  const show = (change: Partial<PaymentView>): void => {
    view = { ...view, ...change };
    tell(view);
  };

  const stop = (): void => {
    ending.abort();
    show({ isRunning: false, isElsewhere: false });
  };

  /** @param run Is given the stored payment, and runs while this tab has the lock. */
  function start(run: (payment: Payment | null, tools: Tools) => Promise<void>): void {
    stop();
    ending = new AbortController();
    const { signal } = ending;
    show({ isRunning: true, error: undefined });
    const keep = (payment: Payment): void => {
      if (signal.aborted) return;
      keepPayment(address, payment);
      show({ payment });
    };
    const hold = async (): Promise<void> => {
      const payment = readPayment(address);
      show({ payment });
      try {
        await untilAborted(run(payment, { keep, signal }), signal);
      } catch (error) {
        if (!signal.aborted) show({ error });
      }
      if (!signal.aborted) show({ isRunning: false });
    };
    // The run before this one gives the lock back first.
    last = last.then(async () => {
      if (signal.aborted || (await lockFor(address, hold))) return;
      if (!signal.aborted) await untilFree(signal);
    });
  }

  /** Waits until the other tab's run has ended. */
  async function untilFree(signal: AbortSignal): Promise<void> {
    show({ payment: readPayment(address), isRunning: false, isElsewhere: true });
    const isFree = navigator.locks.request(paymentName(address), { signal }, () => undefined);
    await isFree.catch(() => undefined);
    if (!signal.aborted) show({ payment: readPayment(address), isElsewhere: false });
  }

  const onStorage = ({ key }: StorageEvent): void => {
    if (key !== null && key !== paymentName(address)) return;
    const payment = readPayment(address);
    if (view.isRunning) return;
    show({ payment, error: undefined });
    // The tab that changed the payment may still run it.
    if (payment !== null && !view.isElsewhere) start(async () => undefined);
  };
  addEventListener("storage", onStorage);

  const goOnWith = async (payment: Payment | null, tools: Tools, mayAsk: boolean): Promise<void> => {
    if (payment !== null && !payment.isCredited) await runPayment(connection, payment, { ...tools, mayAsk });
  };

  return {
    open: () => start((payment, tools) => goOnWith(payment?.kept == null ? null : payment, tools, false)),
    begin: (given) =>
      start(async (payment, tools) => {
        if (payment !== null && !payment.isCredited) return;
        tools.keep(given);
        await goOnWith(given, tools, true);
      }),
    goOn: (change = {}) =>
      start(async (payment, tools) => {
        if (payment === null) return;
        const changed = { ...payment, ...change };
        tools.keep(changed);
        await goOnWith(changed, tools, true);
      }),
    stop,
    notSent: () =>
      start(async (payment, tools) => {
        if (payment?.kept == null) return;
        const next = await giveUp(connection, payment);
        tools.keep(next);
        if (next.kept !== null) await goOnWith(next, tools, false);
      }),
    clear: () => {
      stop();
      keepPayment(address, null);
      show({ payment: null, error: undefined });
    },
    close: () => {
      ending.abort();
      removeEventListener("storage", onStorage);
    },
  };
}

type Tools = { keep(payment: Payment): void; signal: AbortSignal };

/** Runs a function under the lock of the wallet's payment. False: another tab has the lock, and nothing ran. */
async function lockFor(address: string, run: () => Promise<void>): Promise<boolean> {
  // Browsers offer no locks to a page that came without TLS from another machine.
  if (navigator.locks === undefined) return run().then(() => true);
  return navigator.locks.request(paymentName(address), { ifAvailable: true }, async (lock) => {
    if (lock !== null) await run();
    return lock !== null;
  });
}

/** A wallet may leave a request open for ever. */
async function untilAborted(running: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  await Promise.race([running, aborted]);
}
