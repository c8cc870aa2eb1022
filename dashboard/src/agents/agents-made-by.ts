import { agentRegistryAbi } from "@inference/protocol/abi/agent-registry";
import { agentTokenAbi } from "@inference/protocol/abi/agent-token";
import { backerVaultAbi } from "@inference/protocol/abi/backer-vault";
import { inferencePoolAbi } from "@inference/protocol/abi/inference-pool";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import type { offerAnswer } from "@inference/protocol/wire/offer";
import { chainClients } from "@inference/sdk/chain-clients";
import type { Connection } from "@inference/sdk/connection";
import { contractOn } from "@inference/sdk/directory";
import { inRanges } from "@inference/sdk/verify/events-in-ranges";
import type * as z from "zod";
import { gatewayRequest } from "../gateway.ts";

type Address = `0x${string}`;

/** What the primary chain says of an agent. */
export type Agent = {
  token: Address;
  name: string;
  owner: Address;
  safe: Address;
  treasury: Address;
  computer: Address;
  capacityNanoUsd: bigint;
  /** The most that its owner lets it use, in staked units of 18 decimals; above all stakes if there is no limit. */
  reservation: bigint;
  /** Staked units of 18 decimals: all, and what backers have put in. */
  stake: bigint;
  backing: bigint;
  /** Earned and not paid out yet. */
  owedSafeNanoUsd: bigint;
  owedTreasuryNanoUsd: bigint;
  servedTodayNanoUsd: bigint;
};

export type OfferState = z.infer<typeof offerAnswer>["data"];

const DAY_MS = 86_400_000;

export async function readAgent(connection: Connection, token: Address): Promise<Agent> {
  const { entry, reader } = await chainClients(connection);
  const at = (name: string): Address => contractOn(connection, entry, name);
  const agent = { address: token, abi: agentTokenAbi } as const;
  const registry = { address: at("agentRegistry"), abi: agentRegistryAbi, args: [token] } as const;
  const pool = { address: at("inferencePool"), abi: inferencePoolAbi, args: [token] } as const;
  const settlement = { address: at("inferenceSettlement"), abi: inferenceSettlementAbi } as const;
  if (!(await reader.readContract({ ...registry, functionName: "isAgent" }))) {
    throw new Error(`${token} is no agent of this service.`);
  }
  const today = BigInt(Math.floor(Date.now() / DAY_MS));
  const [name, owner, safe, treasury, computer] = await Promise.all([
    reader.readContract({ ...agent, functionName: "name" }),
    reader.readContract({ ...agent, functionName: "owner" }),
    reader.readContract({ ...registry, functionName: "safeOf" }),
    reader.readContract({ ...registry, functionName: "treasuryOf" }),
    reader.readContract({ ...registry, functionName: "computerOf" }),
  ]);
  const [capacityNanoUsd, reservation, stake, backing, owed, servedTodayNanoUsd] = await Promise.all([
    reader.readContract({ ...pool, functionName: "capacityToday" }),
    reader.readContract({ ...pool, functionName: "reservationOf" }),
    reader.readContract({ ...pool, functionName: "totalStakeOf" }),
    reader.readContract({
      ...{ address: at("backerVault"), abi: backerVaultAbi, functionName: "totalBacking", args: [token] },
    }),
    reader.readContract({ ...settlement, functionName: "owedAgentNanoUsd", args: [token] }),
    reader.readContract({ ...settlement, functionName: "servedNanoUsd", args: [token, today] }),
  ]);
  const [owedSafeNanoUsd, owedTreasuryNanoUsd] = owed;
  return {
    ...{ token, name, owner, safe, treasury, computer, capacityNanoUsd, reservation, stake, backing },
    ...{ owedSafeNanoUsd, owedTreasuryNanoUsd, servedTodayNanoUsd },
  };
}

/** The agents that this wallet has made, the newest first. One that it sold is among them. */
export async function agentsMadeBy(connection: Connection, owner: Address): Promise<Address[]> {
  const { entry, reader } = await chainClients(connection);
  const address = contractOn(connection, entry, "agentRegistry");
  const events = await inRanges(entry, await reader.getBlockNumber(), (fromBlock, toBlock) =>
    reader.getContractEvents({
      ...{ address, abi: agentRegistryAbi, eventName: "AgentCreated", args: { owner } },
      ...{ fromBlock, toBlock, strict: true },
    }),
  );
  return events.map(({ args }) => args.agentToken).toReversed();
}

export async function readOffer(token: Address): Promise<OfferState> {
  return (await gatewayRequest<{ data: OfferState }>(`/api/v1/agents/${token}/offer`)).data;
}
