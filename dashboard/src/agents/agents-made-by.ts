import { agentRegistryAbi } from "@inference/protocol/abi/agent-registry";
import { chainClients } from "@inference/sdk/chain-clients";
import type { Connection } from "@inference/sdk/connection";
import { contractOn } from "@inference/sdk/directory";
import { inRanges } from "@inference/sdk/verify/events-in-ranges";

/** The agents that this wallet created, the newest first, including sold ones. */
export async function agentsMadeBy(connection: Connection, owner: `0x${string}`): Promise<`0x${string}`[]> {
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
