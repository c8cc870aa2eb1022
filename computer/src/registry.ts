import { reasonOf } from "@inference/keeper/log";
import { agentRegistryAbi } from "@inference/protocol/abi/agent-registry";
import { type Address, createPublicClient, http, zeroAddress } from "viem";
import { ComputerError } from "./computer-error.ts";

export type Claim = { rpcUrl: string; chainId: number; registry: Address; agentToken: Address; computer: Address };

/**
 * Throws {@link ComputerError} unless the registry of the primary chain names `computer` as the agent's, and another
 * error if the node does not answer.
 */
export async function requireComputer({ rpcUrl, chainId, registry, agentToken, computer }: Claim): Promise<void> {
  const client = createPublicClient({ transport: http(rpcUrl) });
  const contract = { address: registry, abi: agentRegistryAbi } as const;
  const read = async <T>(what: Promise<T>): Promise<T> => {
    try {
      return await what;
    } catch (error) {
      throw new Error(
        `The primary chain's node does not answer (${reasonOf(error)}): set PRIMARY_RPC_URL to another node.`,
      );
    }
  };
  const actual = await read(client.getChainId());
  if (actual !== chainId) {
    throw new ComputerError(
      `The node is one of chain ${actual}, and the gateway's primary chain is ${chainId}: set PRIMARY_RPC_URL to another node.`,
    );
  }
  if (!(await read(client.readContract({ ...contract, functionName: "isAgent", args: [agentToken] })))) {
    throw new ComputerError(
      `AGENT_TOKEN ${agentToken} is no agent of chain ${chainId}: only agents created in its registry sell there.`,
    );
  }
  const named = await read(client.readContract({ ...contract, functionName: "computerOf", args: [agentToken] }));
  if (named === computer) return;
  const instead = named === zeroAddress ? "no computer" : `computer ${named}`;
  throw new ComputerError(
    `The registry has ${instead} for agent ${agentToken}, not ${computer}: its owner sets it with setComputer.`,
  );
}
