import type { DatabaseSync } from "node:sqlite";
import { createAlarm } from "@inference/chain/alarm";
import { receiptOf } from "@inference/contracts/receipt";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { type Budget, createBudget } from "./budget.ts";
import { openDatabase } from "./database.ts";
import { findBooking, findFlush, findTransits } from "./dollars.ts";
import { findConversions, findPurchases } from "./fees.ts";
import { connectKeeperChain, hasContract, type KeeperChain } from "./keeper-chain.ts";
import { type Log, reasonOf } from "./log.ts";
import { findPayments } from "./payments.ts";
import { findCollections } from "./positions.ts";
import { type Service, startLoop } from "./process.ts";
import { startRelay } from "./relay/relay.ts";
import { revertOf } from "./revert.ts";
import type { KeeperSettings } from "./settings.ts";
import { findPulls } from "./standing-orders.ts";
import type { Delay, Found, Task, TaskFinder } from "./task.ts";
import { findDeliveries } from "./waiting.ts";

export type Keeper = Service & {
  /** The port of the relay once it listens; null without one. Rejects, as `ended`, if the port is taken. */
  relayPort: Promise<number | null>;
};

/** Makes the calls that are open to anyone, within its budget, and runs the relay. */
export function startKeeper(settings: KeeperSettings, options: { now(): number; log: Log }): Keeper {
  const { pollMs, databaseFile, dailyBudgetWei, key } = settings;
  const { now, log } = options;
  const database = openDatabase(databaseFile);
  const budget = createBudget(database, { dailyBudgetWei, now });
  const account = privateKeyToAccount(key);
  const chains = settings.chains.map((chain) => connectKeeperChain(chain, { account, database, now, log }));
  const finders = [...findersOn(chains, settings.minPayment), ...findPullsOn(chains, settings, { database, now })];
  const alert = limited(options);

  async function look({ chain, find }: TaskFinder): Promise<Found> {
    try {
      return await find();
    } catch (error) {
      alert("unreadable", { chain: chain.settings.name, reason: reasonOf(error) });
      return { tasks: [] };
    }
  }
  async function round(signal: AbortSignal): Promise<number> {
    await Promise.all(chains.map(({ events }) => events.poll()));
    for (const finder of finders) {
      const { tasks, delays = [] } = await look(finder);
      for (const { what, chain, ageSeconds } of delays) alert("late", { what, chain, ageSeconds: String(ageSeconds) });
      for (const task of tasks) {
        if (signal.aborted) return 0;
        await perform(task, { budget, alert, log });
      }
    }
    return pollMs;
  }
  const started = startRelay(settings, { database, now, log, alert });
  const { ended, stop } = startLoop(round);
  const relayEnded = started.then((relay) => relay?.ended ?? ended);
  relayEnded.catch(() => {});
  return {
    relayPort: started.then((relay) => relay?.port ?? null),
    ended: Promise.race([ended, relayEnded]),
    async stop() {
      const relay = await started.catch(() => null);
      await Promise.all([stop(), relay?.stop()]).finally(() => database.close());
    },
  };
}

/** A finder on each chain that has the contract. The primary chain is the first. */
function findersOn(chains: readonly KeeperChain[], minPayment: bigint): TaskFinder[] {
  const [primary, ...secondaries] = chains;
  if (primary === undefined) return [];
  const having = (name: string): KeeperChain[] => chains.filter((chain) => hasContract(chain, name));
  return [
    ...secondaries.map((secondary) => findFlush(secondary)),
    ...secondaries.map((secondary) => findBooking({ primary, secondary }, minPayment)),
    ...(secondaries.length > 0 ? findTransits(primary, secondaries) : []),
    ...having("tokenBridge").map(findDeliveries),
    findPayments(primary, minPayment),
    ...having("agentFeeLocker").map((chain) => findCollections(chain, minPayment)),
    ...having("agentFeeConverter").map((chain) => findConversions(chain, minPayment)),
    ...(hasContract(primary, "agentRegistry") ? [findPurchases(primary, minPayment)] : []),
  ];
}

/** Last, because others set how many there are. */
function findPullsOn(
  [primary, ...secondaries]: readonly KeeperChain[],
  { standingOrders }: KeeperSettings,
  { database, now }: { database: DatabaseSync; now(): number },
): TaskFinder[] {
  if (standingOrders === undefined || primary === undefined) return [];
  const { dailyBudgetWei } = standingOrders;
  const budget = createBudget(database, { dailyBudgetWei, now, table: "pull_spent" });
  return [findPulls([primary, ...secondaries], { ...standingOrders, budget, now })];
}

type Alert = (event: string, fields: Record<string, unknown>) => void;

/** Never throws: a task that fails raises an alert, and the others go on. */
async function perform(task: Task, { budget, alert, log }: { budget: Budget; alert: Alert; log: Log }): Promise<void> {
  const { name, chain, call, valueWei, atLeast = 0n, notDue } = task;
  const fields = { task: name, chain: chain.settings.name };
  let outcome: "done" | "reverted" | "not sent" = "not sent";
  try {
    const value = (await valueWei?.()) ?? 0n;
    // A call that would revert is not sent, and costs nothing.
    const { result } = await chain.reader.simulateContract({ ...call, value, account: chain.writer.account });
    if (typeof result === "bigint" && result < atLeast) return;
    const spent = await send(chain, call, value, task.budget ?? budget);
    if (spent.outcome === "budget exhausted") {
      alert("budget exhausted", { ...fields, leftWei: String(spent.leftWei), mostWei: String(spent.mostWei) });
    } else {
      outcome = spent.outcome;
      log("info", outcome, { ...fields, hash: spent.hash });
    }
  } catch (error) {
    if (!notDue.includes(revertOf(error) ?? "")) alert("failed", { ...fields, reason: reasonOf(error) });
  } finally {
    task.onTried?.(outcome);
  }
}

type Sent =
  | { outcome: "done" | "reverted"; hash: Hex }
  | { outcome: "budget exhausted"; leftWei: bigint; mostWei: bigint };

async function send(chain: KeeperChain, call: Task["call"], value: bigint, budget: Budget): Promise<Sent> {
  const { reader, writer, settings } = chain;
  const gas = await reader.estimateContractGas({ ...call, value, account: writer.account });
  const { maxFeePerGas } = await reader.estimateFeesPerGas();
  // A margin, because the gas of a call depends on the second in which it runs.
  const limit = (gas * 5n) / 4n;
  const mostWei = limit * maxFeePerGas + value;
  const leftWei = budget.leftWei(settings.chainId);
  if (leftWei < mostWei) return { outcome: "budget exhausted", leftWei, mostWei };
  const spend = budget.reserve(settings.chainId, mostWei);
  const hash = await writer.writeContract({ ...call, value, gas: limit, maxFeePerGas });
  const { status, gasUsed, effectiveGasPrice } = await receiptOf(reader, hash);
  // A reverted call returns its value.
  spend(gasUsed * effectiveGasPrice + (status === "success" ? value : 0n));
  return { outcome: status === "success" ? "done" : "reverted", hash };
}

function limited({ now, log }: { now(): number; log: Log }): Alert {
  const alarm = createAlarm<Parameters<Alert>>({ now, onAlert: (alert) => log("alert", ...alert) });
  return (event, fields) => {
    const { task, what, chain } = fields as Partial<Delay & { task: string }>;
    alarm([event, task, what, chain].join(":"), [event, fields]);
  };
}
