import { confirm, connectDeployer, send } from "@inference/contracts/deployer";
import { agentRegistryAbi } from "@inference/protocol/abi/agent-registry";
import { inferencePoolAbi } from "@inference/protocol/abi/inference-pool";
import { type Address, erc20Abi, type Hex, parseEther, parseEventLogs } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { Chain } from "./chain.ts";
import { type ChainDeployment, contract } from "./deployment.ts";
import { DevnetError } from "./devnet-error.ts";
import { fundLocalToken } from "./third-parties/local-token.ts";
import { roles } from "./wallets.ts";

/** An agent of the devnet. Its keys are drawn for it, and are kept in `agents.json`. */
export type Agent = {
  name: string;
  token: Address;
  owner: { address: Address; privateKey: Hex };
  computer: { address: Address; privateKey: Hex };
  safe: Address;
  treasury: Address;
};

/** The initial amounts of an agent. */
export const AGENT = {
  /** Each unit is a dollar of capacity for each UTC day. */
  stakedUnits: 100n,
  /** The agent's own tokens for its owner. */
  supply: 1_000_000n,
  /** For the owner's gas. */
  coins: 10n,
} as const;

/** Creates an agent on the primary chain with an owner, a computer and stake. Throws {@link DevnetError}. */
export async function createAgent(
  { rpcUrl }: Pick<Chain, "rpcUrl">,
  { deployment, name }: { deployment: ChainDeployment; name: string },
): Promise<Agent> {
  const [ownerKey, computerKey] = [generatePrivateKey(), generatePrivateKey()];
  const [owner, computer] = [privateKeyToAccount(ownerKey), privateKeyToAccount(computerKey)];
  const issuer = await connectDeployer({ rpcUrl, account: roles.deployer });
  const writer = await connectDeployer({ rpcUrl, account: owner });
  const registry = { address: contract(deployment, "agentRegistry"), abi: agentRegistryAbi } as const;
  const pool = { address: contract(deployment, "inferencePool"), abi: inferencePoolAbi } as const;
  const stakingToken = contract(deployment, "stakingToken");
  const stake = parseEther(String(AGENT.stakedUnits));

  const gas = parseEther(String(AGENT.coins));
  await confirm(issuer, "gas", await issuer.writer.sendTransaction({ to: owner.address, value: gas }));
  await fundLocalToken({ rpcUrl, token: stakingToken, issuer: roles.deployer, to: owner.address, amount: stake });
  const terms = [name, name.replace(" ", "").toUpperCase(), parseEther(String(AGENT.supply)), owner.address] as const;
  const { logs } = await send(writer, { ...registry, functionName: "create", args: terms });
  const [created] = parseEventLogs({ abi: agentRegistryAbi, eventName: "AgentCreated", logs });
  if (created === undefined) throw new DevnetError("The registry created no agent.");
  const { agentToken: token, safe, treasury } = created.args;

  // The computer proves that it belongs to this agent: nobody can name another's key.
  const claim = [token, owner.address, computer.address] as const;
  const digest = await writer.reader.readContract({ ...registry, functionName: "computerDigest", args: claim });
  const named = [token, computer.address, await computer.sign({ hash: digest })] as const;
  await send(writer, { ...registry, functionName: "setComputer", args: named });

  await send(writer, { address: stakingToken, abi: erc20Abi, functionName: "approve", args: [pool.address, stake] });
  await send(writer, { ...pool, functionName: "enterFor", args: [token, stake] });
  return {
    ...{ name, token, safe, treasury },
    owner: { address: owner.address, privateKey: ownerKey },
    computer: { address: computer.address, privateKey: computerKey },
  };
}
