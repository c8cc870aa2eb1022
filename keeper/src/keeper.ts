import { setTimeout as sleep } from "node:timers/promises";
import { receiptOf } from "@inference/contracts/receipt";
import { BaseError, ContractFunctionRevertedError } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { type Budget, openBudget } from "./budget.ts";
import type { Chore, Delay, Duty } from "./chore.ts";
import { bookingDuty, flushDuty, transitDuty } from "./dollars.ts";
import { conversionDuty, purchaseDuty } from "./fees.ts";
import { connectKeeperChain, hasContract, type KeeperChain } from "./keeper-chain.ts";
import { type Log, reasonOf } from "./log.ts";
import { paymentDuty } from "./payments.ts";
import type { KeeperSettings } from "./settings.ts";
import { waitingDuty } from "./waiting.ts";

export type Keeper = {
  /** Lets what is under way come to its end. */
  stop(): Promise<void>;
};

/** The same alert is told again after this long, at the earliest. */
const REPEAT_MS = 600_000;

/** Does what anyone may do and somebody has to, for as long as its budget lasts. */
export function startKeeper(settings: KeeperSettings, options: { now(): number; log: Log }): Keeper {
  const { pollMs, databaseFile, dailyBudgetWei, key } = settings;
  const { now } = options;
  const budget = openBudget({ file: databaseFile, dailyBudgetWei, now });
  const chains = settings.chains.map((chain) => connectKeeperChain(chain, privateKeyToAccount(key)));
  const duties = dutiesOn(chains, settings.minPayment);
  const alert = limited(options);
  const abort = new AbortController();

  async function round(): Promise<void> {
    for (const duty of duties) {
      if (abort.signal.aborted) return;
      try {
        const { chores, delays } = await duty();
        for (const { what, chain, ageSeconds } of delays)
          alert("late", { what, chain, ageSeconds: String(ageSeconds) });
        for (const chore of chores) await perform(chore, { budget, alert, log: options.log });
      } catch (error) {
        alert("unreadable", { reason: reasonOf(error) });
      }
    }
  }
  async function run(): Promise<void> {
    while (!abort.signal.aborted) {
      await round();
      await sleep(pollMs, undefined, { signal: abort.signal }).catch(() => {});
    }
  }
  const running = run();
  return {
    async stop() {
      abort.abort();
      await running;
      budget.close();
    },
  };
}

/** Of each chain that has what the duty is about. The primary chain is the first. */
function dutiesOn(chains: readonly KeeperChain[], minPayment: bigint): Duty[] {
  const [primary, ...secondaries] = chains;
  if (primary === undefined) return [];
  const having = (name: string): KeeperChain[] => chains.filter((chain) => hasContract(chain, name));
  return [
    ...secondaries.map((secondary) => flushDuty(secondary)),
    ...secondaries.map((secondary) => bookingDuty({ primary, secondary }, minPayment)),
    ...secondaries.map((secondary) => transitDuty({ primary, secondary })),
    ...having("tokenBridge").map(waitingDuty),
    paymentDuty(primary, minPayment),
    ...having("agentFeeConverter").map((chain) => conversionDuty(chain, minPayment)),
    ...(hasContract(primary, "agentRegistry") ? [purchaseDuty(primary, minPayment)] : []),
  ];
}

type Alert = (event: string, fields: Record<string, unknown>) => void;

/** Simulated first: what would revert is not sent, and costs nothing. */
async function perform(
  { name, chain, call, valueWei, atLeast = 0n, notDue }: Chore,
  { budget, alert, log }: { budget: Budget; alert: Alert; log: Log },
): Promise<void> {
  const { reader, writer, settings } = chain;
  const fields = { chore: name, chain: settings.name };
  let value = 0n;
  try {
    value = (await valueWei?.()) ?? 0n;
    const { result } = await reader.simulateContract({ ...call, value, account: writer.account });
    if (typeof result === "bigint" && result < atLeast) return;
  } catch (error) {
    if (!notDue.includes(revertOf(error))) alert("failed", { ...fields, reason: reasonOf(error) });
    return;
  }
  const gas = await reader.estimateContractGas({ ...call, value, account: writer.account });
  const { maxFeePerGas } = await reader.estimateFeesPerGas();
  // A margin, because what a call takes depends on the second in which it happens.
  const limit = (gas * 5n) / 4n;
  const mostWei = limit * maxFeePerGas + value;
  if (budget.leftWei(settings.chainId) < mostWei) {
    alert("budget exhausted", {
      ...fields,
      leftWei: String(budget.leftWei(settings.chainId)),
      mostWei: String(mostWei),
    });
    return;
  }
  const spend = budget.reserve(settings.chainId, mostWei);
  const hash = await writer.writeContract({ ...call, value, gas: limit, maxFeePerGas });
  const { status, gasUsed, effectiveGasPrice } = await receiptOf(reader, hash);
  // A call that reverted has given its value back.
  spend(gasUsed * effectiveGasPrice + (status === "success" ? value : 0n));
  log("info", status === "success" ? "done" : "reverted", { ...fields, hash });
}

/** The contract's error by its name, or the words of a plain `revert`. */
function revertOf(error: unknown): string {
  if (!(error instanceof BaseError)) return "";
  const reverted = error.walk((cause) => cause instanceof ContractFunctionRevertedError);
  if (!(reverted instanceof ContractFunctionRevertedError)) return "";
  return reverted.data?.errorName === "Error" ? (reverted.reason ?? "") : (reverted.data?.errorName ?? "");
}

/** Tells the same thing once in a while, however often it happens. */
function limited({ now, log }: { now(): number; log: Log }): Alert {
  const toldAt = new Map<string, number>();
  return (event, fields) => {
    const { chore, what, chain } = fields as Partial<Delay & { chore: string }>;
    const kind = [event, chore, what, chain].join(":");
    const at = now();
    if (at - (toldAt.get(kind) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return;
    toldAt.set(kind, at);
    log("alert", event, fields);
  };
}
