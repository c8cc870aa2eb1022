import type { Connection } from "@inference/sdk/connection";
import { ClientError, ContractError } from "@inference/sdk/errors";
import type { AskedTransaction } from "@inference/sdk/progress";
import { findAsked } from "@inference/sdk/wallet-transaction";
import { keepPlan, type Plan, planName, readPlan } from "./plan.ts";
import { runPlan } from "./run.ts";

/** What a page shows of a wallet's plan. */
export type PlanView = {
  plan: Plan | null;
  isRunning: boolean;
  /** Another tab runs it. */
  isElsewhere: boolean;
  error: unknown;
};

export type PlanRunner = {
  /** Goes on with the kept plan, if there is one, as far as the wallet need not be asked. */
  open(): void;
  /** Begins a plan, unless one is kept by now; the wallet may be asked. */
  begin(plan: Plan): void;
  /** Goes on with the kept plan, with a change; the wallet may be asked. */
  goOn(change?: Partial<Plan>): void;
  /** Stops waiting. What was asked is kept. */
  stop(): void;
  /** Looks for what the wallet was asked, and forgets it if the chain does not show it. */
  notSent(): void;
  /** Forgets the plan. */
  clear(): void;
  /** Ends it with its page. */
  close(): void;
};

/** Of this tab: it ends when it is aborted. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs the plan of a wallet. The browser's tabs share it, and one of them at a time runs it: each run holds a lock, and
 * takes the plan as it is kept then, not as it was shown.
 */
export function planRunner(connection: Connection, address: string, tell: (view: PlanView) => void): PlanRunner {
  let view: PlanView = { plan: readPlan(address), isRunning: false, isElsewhere: false, error: undefined };
  let ending = new AbortController();

  const show = (change: Partial<PlanView>): void => {
    view = { ...view, ...change };
    tell(view);
  };

  const stop = (): void => {
    ending.abort();
    show({ isRunning: false, isElsewhere: false });
  };

  /** @param run What it does with the kept plan while it has the lock. */
  function start(run: (plan: Plan | null, tools: Tools) => Promise<void>): void {
    stop();
    ending = new AbortController();
    const { signal } = ending;
    show({ isRunning: true, error: undefined });
    const keep = (plan: Plan): void => {
      if (signal.aborted) return;
      keepPlan(address, plan);
      show({ plan });
    };
    const hold = async (): Promise<void> => {
      const plan = readPlan(address);
      show({ plan });
      try {
        await untilAborted(run(plan, { keep, signal }), signal);
      } catch (error) {
        if (signal.aborted) return;
        const now = readPlan(address);
        if (now?.kept != null && isOver(error, now.kept)) keep({ ...now, kept: null });
        show({ error });
      }
      if (!signal.aborted) show({ isRunning: false });
    };
    // The run before gives the lock back first.
    last = last.then(async () => {
      if (signal.aborted || (await lockFor(address, hold))) return;
      if (!signal.aborted) await untilFree(signal);
    });
  }

  /** Shows what another tab does, until it has ended. */
  async function untilFree(signal: AbortSignal): Promise<void> {
    show({ plan: readPlan(address), isRunning: false, isElsewhere: true });
    const isFree = navigator.locks.request(planName(address), { signal }, () => undefined);
    await isFree.catch(() => undefined);
    if (!signal.aborted) show({ plan: readPlan(address), isElsewhere: false });
  }

  const onStorage = ({ key }: StorageEvent): void => {
    if (key !== null && key !== planName(address)) return;
    const plan = readPlan(address);
    if (view.isRunning) return;
    show({ plan, error: undefined });
    // Whoever has changed it may still run it.
    if (plan !== null && !view.isElsewhere) start(async () => undefined);
  };
  addEventListener("storage", onStorage);

  const goOnWith = async (plan: Plan | null, tools: Tools, mayAsk: boolean): Promise<void> => {
    if (plan !== null && !plan.isCredited) await runPlan(connection, plan, { ...tools, mayAsk });
  };

  return {
    open: () => start((plan, tools) => goOnWith(plan?.kept == null ? null : plan, tools, false)),
    begin: (given) =>
      start(async (plan, tools) => {
        if (plan !== null && !plan.isCredited) return;
        tools.keep(given);
        await goOnWith(given, tools, true);
      }),
    goOn: (change = {}) =>
      start(async (plan, tools) => {
        if (plan === null) return;
        const changed = { ...plan, ...change };
        tools.keep(changed);
        await goOnWith(changed, tools, true);
      }),
    stop,
    notSent: () =>
      start(async (plan, tools) => {
        if (plan?.kept == null) return;
        const hash = await findAsked(connection, plan.kept);
        if (hash !== null) {
          const found = { ...plan, kept: { ...plan.kept, hash } };
          tools.keep(found);
          return goOnWith(found, tools, false);
        }
        const { hash: _, ...asked } = plan.kept;
        tools.keep({ ...plan, kept: null, shown: null, unsent: [...(plan.unsent ?? []), asked] });
      }),
    clear: () => {
      stop();
      keepPlan(address, null);
      show({ plan: null, error: undefined });
    },
    close: () => {
      ending.abort();
      removeEventListener("storage", onStorage);
    },
  };
}

type Tools = { keep(plan: Plan): void; signal: AbortSignal };

/** Runs it with the lock of the wallet's plan. False: another tab has it, and nothing ran. */
async function lockFor(address: string, run: () => Promise<void>): Promise<boolean> {
  // Browsers have no locks on a page that came without TLS from another machine.
  if (navigator.locks === undefined) return run().then(() => true);
  return navigator.locks.request(planName(address), { ifAvailable: true }, async (lock) => {
    if (lock !== null) await run();
    return lock !== null;
  });
}

/** A wallet may leave a request open for ever. */
async function untilAborted(running: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  await Promise.race([running, aborted]);
}

/**
 * Whether nothing of what was asked is on its way: its owner declined, or it failed on the chain. Any other error of a
 * wallet may come after it has sent the transaction.
 */
function isOver(error: unknown, { hash }: AskedTransaction): boolean {
  if (error instanceof ContractError) return error.hash !== null;
  if (!(error instanceof ClientError) || hash !== undefined) return false;
  return error.code === "wallet_rejected" || error.code === "lost_transaction";
}
