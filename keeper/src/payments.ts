import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { NANO_USD_PER_TOKEN_UNIT } from "@inference/protocol/money";
import { contractOn, inBatches, type KeeperChain } from "./keeper-chain.ts";
import type { Found, Task, TaskFinder } from "./task.ts";

/** Somebody else has made the payment. Other errors, such as a blocked payee, alert the operator. */
const NOT_DUE = ["NothingOwed"];

/** Pays what the settlement owes to the provider's payee, and to agents' Safes and treasuries. */
export function findPayments(primary: KeeperChain, minPayment: bigint): TaskFinder {
  const settlement = { address: contractOn(primary, "inferenceSettlement"), abi: inferenceSettlementAbi } as const;
  const agents = primary.events.track(
    { ...settlement, eventName: "Served" },
    { key: ({ agent }) => agent, value: ({ agent }) => agent },
  );
  const isEnough = (owedNanoUsd: bigint): boolean => owedNanoUsd >= minPayment * NANO_USD_PER_TOKEN_UNIT;
  const task = (functionName: string, args: readonly unknown[]): Task => {
    return { name: functionName, chain: primary, call: { ...settlement, functionName, args }, notDue: NOT_DUE };
  };

  async function find(): Promise<Found> {
    const tasks: Task[] = [];
    const provider = await primary.reader.readContract({ ...settlement, functionName: "owedProviderNanoUsd" });
    if (isEnough(provider)) tasks.push(task("payProvider", []));
    const open = [...agents.open().values()];
    const contracts = open.map(
      (agent) => ({ ...settlement, functionName: "owedAgentNanoUsd", args: [agent] }) as const,
    );
    const owed = await primary.reader.multicall({ ...inBatches, contracts });
    const paid: string[] = [];
    for (const [index, agent] of open.entries()) {
      const [safe = 0n, treasury = 0n] = owed[index] ?? [];
      if (isEnough(safe)) tasks.push(task("paySafe", [agent]));
      if (isEnough(treasury)) tasks.push(task("payTreasury", [agent]));
      // Less than a token unit stays owed until the agent serves again.
      if (safe < NANO_USD_PER_TOKEN_UNIT && treasury < NANO_USD_PER_TOKEN_UNIT) paid.push(agent);
    }
    agents.done(paid);
    return { tasks, delays: [] };
  }
  return { chain: primary, find };
}
