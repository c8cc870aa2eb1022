import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { Chore, Duty } from "./chore.ts";
import { createEventReader } from "./event-reader.ts";
import { contractOn, type KeeperChain } from "./keeper-chain.ts";

const NANO_USD_PER_TOKEN_UNIT = 1_000n;
/** Somebody else has had it paid. A payee who is blocked is for the operator to know. */
const NOT_DUE = ["NothingOwed"];

/** What the settlement owes: to the provider's payee, and to agents' Safes and treasuries. */
export function paymentDuty(primary: KeeperChain, minPayment: bigint): Duty {
  const settlement = { address: contractOn(primary, "inferenceSettlement"), abi: inferenceSettlementAbi } as const;
  const served = createEventReader(primary, { ...settlement, eventName: "Served" });
  const chore = (functionName: string, args: readonly unknown[]): Chore => {
    return { name: functionName, chain: primary, call: { ...settlement, functionName, args }, notDue: NOT_DUE };
  };
  const isEnough = (owedNanoUsd: bigint): boolean => owedNanoUsd >= minPayment * NANO_USD_PER_TOKEN_UNIT;

  return async () => {
    const chores: Chore[] = [];
    const provider = await primary.reader.readContract({ ...settlement, functionName: "owedProviderNanoUsd" });
    if (isEnough(provider)) chores.push(chore("payProvider", []));
    for (const agent of new Set((await served()).map(({ args }) => args.agent))) {
      const owed = { ...settlement, functionName: "owedAgentNanoUsd", args: [agent] } as const;
      const [safe, treasury] = await primary.reader.readContract(owed);
      if (isEnough(safe)) chores.push(chore("paySafe", [agent]));
      if (isEnough(treasury)) chores.push(chore("payTreasury", [agent]));
    }
    return { chores, delays: [] };
  };
}
