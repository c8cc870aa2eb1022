import { agentRegistryAbi } from "@inference/protocol/abi/agent-registry";
import { agentTokenAbi } from "@inference/protocol/abi/agent-token";
import { backerVaultAbi } from "@inference/protocol/abi/backer-vault";
import { inferencePoolAbi } from "@inference/protocol/abi/inference-pool";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { type Address, encodeFunctionData, erc20Abi, type Hash, maxUint256, parseEventLogs, zeroAddress } from "viem";
import { chainClients } from "./chain-clients.ts";
import type { Connection } from "./connection.ts";
import { contractOn } from "./directory.ts";
import { ContractError, fromWallet } from "./errors.ts";
import type { OfferSigner } from "./offers.ts";
import { requireAccount, type SendOptions, sendCall } from "./send.ts";
import { inRanges } from "./verify/events-in-ranges.ts";

/** Agents are created on the primary chain. Stake and agent tokens have 18 decimals: amounts are in 1e-18 units. */
export type AgentAddresses = { token: Address; owner: Address; safe: Address; treasury: Address };

/** Creates an agent: a token, a Safe and a treasury. The account gets the supply and the ownership of the token. */
export async function createAgent(
  connection: Connection,
  { name, symbol, supply, ...options }: SendOptions & { name: string; symbol: string; supply: bigint },
): Promise<{ hash: Hash; agent: AgentAddresses }> {
  const { address } = requireAccount(connection);
  const { entry } = await chainClients(connection);
  const abi = agentRegistryAbi;
  const data = encodeFunctionData({ abi, functionName: "create", args: [name, symbol, supply, address] });
  const call = { to: contractOn(connection, entry, "agentRegistry"), data, abi };
  const { hash } = await sendCall(connection, { chainId: entry.chain_id, step: "createAgent", call }, options);
  return { hash, agent: await createdAgent(connection, hash) };
}

/** The agent that a transaction created. */
export async function createdAgent(connection: Connection, hash: Hash): Promise<AgentAddresses> {
  const { reader } = await chainClients(connection);
  const { logs } = await reader.getTransactionReceipt({ hash });
  const [created] = parseEventLogs({ abi: agentRegistryAbi, eventName: "AgentCreated", logs });
  if (created === undefined) throw new ContractError(`The transaction ${hash} created no agent.`, { hash });
  const { agentToken: token, owner, safe, treasury } = created.args;
  return { token, owner, safe, treasury };
}

/** Sets the account that signs the agent's offers; null: none. The account signs a proof. */
export async function setComputer(
  connection: Connection,
  { agentToken, computer, ...options }: SendOptions & { agentToken: Address; computer: OfferSigner | null },
): Promise<{ hash: Hash }> {
  const { address: owner } = requireAccount(connection);
  const { entry, reader } = await chainClients(connection);
  const registry = { address: contractOn(connection, entry, "agentRegistry"), abi: agentRegistryAbi } as const;
  const nonce = await reader.readContract({ ...registry, functionName: "computerNonce", args: [agentToken] });
  const domain = { name: "AgentRegistry", version: "1", chainId: entry.chain_id, verifyingContract: registry.address };
  const message = { agentToken, owner, computer: computer?.address ?? zeroAddress, nonce };
  const proof =
    computer === null
      ? "0x"
      : await fromWallet(computer.signTypedData({ domain, types: COMPUTER, primaryType: "Computer", message }));
  const args = [agentToken, message.computer, proof] as const;
  const data = encodeFunctionData({ abi: registry.abi, functionName: "setComputer", args });
  const call = { to: registry.address, data, abi: registry.abi };
  return sendCall(connection, { chainId: entry.chain_id, step: "setComputer", call }, options);
}

const COMPUTER = {
  Computer: [
    { name: "agentToken", type: "address" },
    { name: "owner", type: "address" },
    { name: "computer", type: "address" },
    { name: "nonce", type: "uint256" },
  ],
} as const;

/**
 * Caps how much of the agent's stake is its capacity, from the next UTC day on.
 *
 * @param options.amount In 1e-18 of the staking token; null: no cap.
 */
export async function setReserve(
  connection: Connection,
  { agentToken, amount, ...options }: SendOptions & { agentToken: Address; amount: bigint | null },
): Promise<{ hash: Hash }> {
  const { entry } = await chainClients(connection);
  const abi = agentTokenAbi;
  const data = encodeFunctionData({ abi, functionName: "setReserve", args: [amount ?? maxUint256] });
  const call = { to: agentToken, data, abi };
  return sendCall(connection, { chainId: entry.chain_id, step: "reserve", call }, options);
}

/** The agents that a wallet created, the newest first, including sold ones. The node must serve logs. */
export async function agentsMadeBy(connection: Connection, owner: Address): Promise<Address[]> {
  const { entry, reader } = await chainClients(connection);
  const filter = { abi: agentRegistryAbi, eventName: "AgentCreated", args: { owner }, strict: true } as const;
  const address = contractOn(connection, entry, "agentRegistry");
  const events = await inRanges(entry, await reader.getBlockNumber(), (range) =>
    reader.getContractEvents({ ...filter, ...range, address }),
  );
  return events.map(({ args }) => args.agentToken).toReversed();
}

/** An agent's state on the primary chain, at the latest block. */
export type AgentBooks = AgentAddresses & {
  name: string;
  /** The zero address: none. */
  computer: Address;
  capacityTodayNanoUsd: bigint;
  /** In 1e-18 of the staking token, including stake that counts from the next day on. */
  stake: bigint;
  /** The cap; null: none. */
  reserve: bigint | null;
  backing: bigint;
  /** Not paid out yet. */
  owedSafeNanoUsd: bigint;
  owedTreasuryNanoUsd: bigint;
  /** The balances of both, in the stablecoin's own units and in token units. */
  safeDollars: bigint;
  safeToken: bigint;
  treasuryDollars: bigint;
  dollarDecimals: number;
};

/** The name and symbol of an agent's token. */
export async function readAgentName(
  connection: Connection,
  agentToken: Address,
): Promise<{ name: string; symbol: string }> {
  const { reader } = await chainClients(connection);
  const agent = { address: agentToken, abi: agentTokenAbi } as const;
  const [name, symbol] = await Promise.all([
    reader.readContract({ ...agent, functionName: "name" }),
    reader.readContract({ ...agent, functionName: "symbol" }),
  ]);
  return { name, symbol };
}

/** Throws `ContractError` `UnknownAgent` if the registry has created no such agent. */
export async function requireAgent(connection: Connection, agentToken: Address): Promise<void> {
  const { entry, reader } = await chainClients(connection);
  const registry = { address: contractOn(connection, entry, "agentRegistry"), abi: agentRegistryAbi } as const;
  if (await reader.readContract({ ...registry, functionName: "isAgent", args: [agentToken] })) return;
  const about = { errorName: "UnknownAgent", args: [agentToken] };
  throw new ContractError(`The registry has created no agent ${agentToken}.`, about);
}

/** Throws `ContractError` `UnknownAgent`. */
export async function readAgent(connection: Connection, agentToken: Address): Promise<AgentBooks> {
  const { entry, reader } = await chainClients(connection);
  const at = (name: string): Address => contractOn(connection, entry, name);
  const registry = { address: at("agentRegistry"), abi: agentRegistryAbi, args: [agentToken] } as const;
  await requireAgent(connection, agentToken);
  const pool = { address: at("inferencePool"), abi: inferencePoolAbi, args: [agentToken] } as const;
  const settlement = { address: at("inferenceSettlement"), abi: inferenceSettlementAbi, args: [agentToken] } as const;
  const vault = { address: at("backerVault"), abi: backerVaultAbi, args: [agentToken] } as const;
  const dollar = { address: at("stablecoin"), abi: erc20Abi } as const;
  const agent = { address: agentToken, abi: agentTokenAbi } as const;
  const [name, owner, safe, treasury, computer, capacity, staked, cap, backing, owed, decimals] = await Promise.all([
    reader.readContract({ ...agent, functionName: "name" }),
    reader.readContract({ ...agent, functionName: "owner" }),
    reader.readContract({ ...registry, functionName: "safeOf" }),
    reader.readContract({ ...registry, functionName: "treasuryOf" }),
    reader.readContract({ ...registry, functionName: "computerOf" }),
    reader.readContract({ ...pool, functionName: "capacityToday" }),
    reader.readContract({ ...pool, functionName: "totalStakeOf" }),
    reader.readContract({ ...pool, functionName: "reservationOf" }),
    reader.readContract({ ...vault, functionName: "totalBacking" }),
    reader.readContract({ ...settlement, functionName: "owedAgentNanoUsd" }),
    reader.readContract({ ...dollar, functionName: "decimals" }),
  ]);
  const balance = (address: Address, of: Address) =>
    reader.readContract({ address, abi: erc20Abi, functionName: "balanceOf", args: [of] });
  const [safeDollars, safeToken, treasuryDollars] = await Promise.all([
    balance(dollar.address, safe),
    balance(at("inferenceToken"), safe),
    balance(dollar.address, treasury),
  ]);
  const [owedSafeNanoUsd, owedTreasuryNanoUsd] = owed;
  return {
    ...{ token: agentToken, name, owner, safe, treasury, computer, capacityTodayNanoUsd: capacity, stake: staked },
    ...{ reserve: cap === maxUint256 ? null : cap, backing, owedSafeNanoUsd, owedTreasuryNanoUsd },
    ...{ safeDollars, safeToken, treasuryDollars, dollarDecimals: decimals },
  };
}
