import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { decodeChunk } from "@inference/protocol/chunk";
import { NANO_USD_PER_TOKEN_UNIT } from "@inference/protocol/money";
import { type Address, hexToBytes } from "viem";
import { contractOn, inBatches, type KeeperChain } from "./keeper-chain.ts";
import type { Found, Task, TaskFinder } from "./task.ts";

/** Somebody else has made the payment. Other errors, such as a blocked payee, alert the operator. */
const NOT_DUE = ["NothingOwed"];

/** Pays the settlement's debts to the provider's payee, to agents' Safes and treasuries, and back to accounts. */
export function findPayments(primary: KeeperChain, minPayment: bigint): TaskFinder {
  const settlement = { address: contractOn(primary, "inferenceSettlement"), abi: inferenceSettlementAbi } as const;
  // The keys are the agents of a chunk and the accounts that they served.
  const payees = primary.events.track(
    { ...settlement, eventName: "Settled" },
    {
      keys: ({ data }) => {
        const served = decodeChunk(hexToBytes(data)).filter(({ parts }) => parts.length > 0);
        const agents = served.flatMap(({ parts }) => parts.map(({ agent }) => `agent:${agent}`));
        return new Set([...agents, ...served.map(({ account }) => `account:${account}`)]);
      },
      value: (_args, _block, key) => key,
    },
  );
  const isEnough = (owedNanoUsd: bigint): boolean => owedNanoUsd >= minPayment * NANO_USD_PER_TOKEN_UNIT;
  const task = (functionName: string, args: readonly unknown[]): Task => {
    return { name: functionName, chain: primary, call: { ...settlement, functionName, args }, notDue: NOT_DUE };
  };

  async function agentTasks(agents: readonly Address[], tasks: Task[]): Promise<string[]> {
    const contracts = agents.map(
      (agent) => ({ ...settlement, functionName: "owedAgentNanoUsd", args: [agent] }) as const,
    );
    const owed = await primary.reader.multicall({ ...inBatches, contracts });
    const paid: string[] = [];
    for (const [index, agent] of agents.entries()) {
      const [safe = 0n, treasury = 0n] = owed[index] ?? [];
      if (isEnough(safe)) tasks.push(task("paySafe", [agent]));
      if (isEnough(treasury)) tasks.push(task("payTreasury", [agent]));
      // Less than a token unit stays owed until the agent serves again.
      if (safe < NANO_USD_PER_TOKEN_UNIT && treasury < NANO_USD_PER_TOKEN_UNIT) paid.push(`agent:${agent}`);
    }
    return paid;
  }
  async function accountTasks(accounts: readonly Address[], tasks: Task[]): Promise<string[]> {
    const contracts = accounts.map(
      (account) => ({ ...settlement, functionName: "owedBackNanoUsd", args: [account] }) as const,
    );
    const owed = await primary.reader.multicall({ ...inBatches, contracts });
    const paid: string[] = [];
    for (const [index, account] of accounts.entries()) {
      const back = owed[index] ?? 0n;
      if (isEnough(back)) tasks.push(task("payBack", [account]));
      if (back < NANO_USD_PER_TOKEN_UNIT) paid.push(`account:${account}`);
    }
    return paid;
  }
  async function find(): Promise<Found> {
    const tasks: Task[] = [];
    const provider = await primary.reader.readContract({ ...settlement, functionName: "owedProviderNanoUsd" });
    if (isEnough(provider)) tasks.push(task("payProvider", []));
    const open = [...payees.open().values()];
    const named = (kind: string): Address[] =>
      open.filter((key) => key.startsWith(kind)).map((key) => key.slice(kind.length) as Address);
    payees.done([...(await agentTasks(named("agent:"), tasks)), ...(await accountTasks(named("account:"), tasks))]);
    return { tasks };
  }
  return { chain: primary, find };
}
