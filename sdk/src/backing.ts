import { backerVaultAbi } from "@inference/protocol/abi/backer-vault";
import { inferencePoolAbi } from "@inference/protocol/abi/inference-pool";
import { type Address, encodeFunctionData, erc20Abi, type Hash, isAddressEqual, parseEventLogs } from "viem";
import { agentsMadeBy, requireAgent } from "./agents.ts";
import { type ChainClients, chainClients } from "./chain-clients.ts";
import type { Connection } from "./connection.ts";
import { contractOn } from "./directory.ts";
import { ClientError, ContractError } from "./errors.ts";
import { requireFunds } from "./funds.ts";
import { approve } from "./pay-dollars.ts";
import { requireAccount, type SendOptions, sendCall } from "./send.ts";
import { inRanges } from "./verify/events-in-ranges.ts";

/**
 * A backer's way in and out, on the primary chain: `stake`, `claimRewards`, `unback`, and a day later `payExit`. Stake
 * is in 1e-18 of the staking token, rewards in token units, 1e-6 dollar.
 */
export type StakeOptions = SendOptions & {
  agentToken: Address;
  /** In 1e-18 of the staking token. */
  amount: bigint;
  /**
   * `back`: through the vault; the account can withdraw the stake and gets a share of the tokens that the agent's fees
   * mint. `gift`: for good, and without a share.
   */
  as: "back" | "gift";
};

/**
 * Stakes under an agent: each whole unit is a dollar of capacity a day, from the next UTC day on. Throws
 * `ContractError` `UnknownAgent`, `ERC20InsufficientBalance` before it approves anything.
 */
export async function stake(connection: Connection, options: StakeOptions): Promise<{ hash: Hash }> {
  const { agentToken, amount, as } = options;
  const { address: owner } = requireAccount(connection);
  const clients = await chainClients(connection);
  const { chainId, pool, vault } = contractsOf(connection, clients);
  const args = [agentToken, amount] as const;
  const call =
    as === "gift"
      ? { ...to(pool), data: encodeFunctionData({ abi: pool.abi, functionName: "enterFor", args }) }
      : { ...to(vault), data: encodeFunctionData({ abi: vault.abi, functionName: "back", args }) };
  const token = await clients.reader.readContract({ ...pool, functionName: "STAKING_TOKEN" });
  if (as === "back") await requireAgent(connection, agentToken);
  await requireFunds(clients, { owner, token, amount });
  await approve(connection, { clients, token, spender: call.to, amount }, options);
  return sendCall(connection, { chainId, step: "stake", call: { ...call, extraGas: EXTRA_GAS } }, options);
}

/** The gas of the vault's calls varies by a few thousand from second to second. */
const EXTRA_GAS = 20_000n;

/** Pays the account the rewards of its backing. Throws `ClientError` `nothing_to_claim` before anything is sent. */
export async function claimRewards(
  connection: Connection,
  { agentToken, ...options }: SendOptions & { agentToken: Address },
): Promise<{ hash: Hash }> {
  const { address } = requireAccount(connection);
  const { chainId, vault } = contractsOf(connection, await chainClients(connection));
  if ((await readBacking(connection, { agentToken, address })).claimableToken === 0n) {
    const message = `There is nothing to claim of ${agentToken} yet. Rewards of a UTC day are paid out over the next.`;
    throw new ClientError("nothing_to_claim", `${message} Nothing was sent.`);
  }
  const data = encodeFunctionData({ abi: vault.abi, functionName: "claim", args: [agentToken] });
  const call = { ...to(vault), data, extraGas: EXTRA_GAS };
  return sendCall(connection, { chainId, step: "claim", call }, options);
}

/**
 * Withdraws some of the account's backing, which starts the cooldown of one day. `requestedExit` of the hash names the
 * exit. The stake gives its capacity to the end of the UTC day. Throws `ContractError` `InsufficientBacking`.
 */
export async function unback(
  connection: Connection,
  { agentToken, amount, ...options }: SendOptions & { agentToken: Address; amount: bigint },
): Promise<{ hash: Hash }> {
  const { chainId, vault } = contractsOf(connection, await chainClients(connection));
  const data = encodeFunctionData({ abi: vault.abi, functionName: "unback", args: [agentToken, amount] });
  const call = { ...to(vault), data, extraGas: EXTRA_GAS };
  return sendCall(connection, { chainId, step: "unback", call }, options);
}

/** Pays an exit to its backer. Anybody may. Throws `ContractError` `ExitNotReady`, `UnknownExit`. */
export async function payExit(
  connection: Connection,
  { exitId, ...options }: SendOptions & { exitId: bigint },
): Promise<{ hash: Hash }> {
  const { chainId, pool } = contractsOf(connection, await chainClients(connection));
  const data = encodeFunctionData({ abi: pool.abi, functionName: "exit", args: [exitId] });
  return sendCall(connection, { chainId, step: "exit", call: { ...to(pool), data } }, options);
}

/** The stake and rewards of an account under one agent. */
export type Backing = {
  agentToken: Address;
  /** In 1e-18 of the staking token. */
  amount: bigint;
  /** The rewards that `claimRewards` pays now, in token units. */
  claimableToken: bigint;
};

export async function readBacking(
  connection: Connection,
  { agentToken, address }: { agentToken: Address; address: Address },
): Promise<Backing> {
  const clients = await chainClients(connection);
  const { vault } = contractsOf(connection, clients);
  const args = [agentToken, address] as const;
  const [amount, claimableToken] = await Promise.all([
    clients.reader.readContract({ ...vault, functionName: "backingOf", args }),
    clients.reader.readContract({ ...vault, functionName: "claimable", args }),
  ]);
  return { agentToken, amount, claimableToken };
}

/** Every agent with stake or rewards of an account. The node must serve logs. */
export async function readBackings(connection: Connection, address: Address): Promise<Backing[]> {
  const { entry, reader } = await chainClients(connection);
  const { vault } = contractsOf(connection, await chainClients(connection));
  const filter = { ...vault, eventName: "Backed", args: { backer: address }, strict: true } as const;
  const events = await inRanges(entry, await reader.getBlockNumber(), (range) =>
    reader.getContractEvents({ ...filter, ...range }),
  );
  const agents = [...new Set(events.map(({ args }) => args.agent))];
  const all = await Promise.all(agents.map((agentToken) => readBacking(connection, { agentToken, address })));
  return all.filter(({ amount, claimableToken }) => amount > 0n || claimableToken > 0n);
}

/** The agents that an account has made or backs. */
export async function agentsOf(connection: Connection, address: Address): Promise<Address[]> {
  const [made, backed] = await Promise.all([agentsMadeBy(connection, address), readBackings(connection, address)]);
  return [...new Set([...made, ...backed.map(({ agentToken }) => agentToken)])];
}

/** A withdrawal that is not paid yet. */
export type PendingExit = {
  exitId: bigint;
  agentToken: Address;
  /** In 1e-18 of the staking token. */
  amount: bigint;
  /** From then on `payExit` pays it, by the chain's clock. */
  readyAt: string;
  isReady: boolean;
};

/** The unpaid exits of an account's backing, the oldest first. The node must serve logs. */
export async function readExits(connection: Connection, address: Address): Promise<PendingExit[]> {
  const clients = await chainClients(connection);
  const { entry, reader } = clients;
  const { pool, vault } = contractsOf(connection, clients);
  const filter = { ...vault, eventName: "Unbacked", args: { backer: address }, strict: true } as const;
  const { number: last, timestamp } = await reader.getBlock();
  const events = await inRanges(entry, last, (range) => reader.getContractEvents({ ...filter, ...range }));
  const hashes = [...new Set(events.map(({ transactionHash: hash }) => hash))];
  const asked = (await Promise.all(hashes.map((hash) => exitsIn(connection, hash, address)))).flat();
  const unpaid = asked.map(async (each) => {
    const [, readyAt, amount] = await reader.readContract({ ...pool, functionName: "exits", args: [each.exitId] });
    return amount === 0n ? [] : [{ ...each, isReady: readyAt <= timestamp }];
  });
  return (await Promise.all(unpaid)).flat();
}

/** The exit that a transaction of `unback` requested. */
export async function requestedExit(connection: Connection, hash: Hash): Promise<PendingExit> {
  const [found] = await exitsIn(connection, hash, requireAccount(connection).address);
  if (found === undefined) throw new ContractError(`The transaction ${hash} requested no exit.`, { hash });
  return found;
}

async function exitsIn(connection: Connection, hash: Hash, address: Address): Promise<PendingExit[]> {
  const clients = await chainClients(connection);
  const { pool } = contractsOf(connection, clients);
  const { logs } = await clients.reader.getTransactionReceipt({ hash });
  return parseEventLogs({ abi: pool.abi, eventName: "ExitRequested", logs })
    .filter((log) => isAddressEqual(log.address, pool.address) && isAddressEqual(log.args.to, address))
    .map(({ args: { exitId, identity: agentToken, amount, readyAt } }) => {
      const time = new Date(Number(readyAt) * 1_000).toISOString();
      return { exitId, agentToken, amount, readyAt: time, isReady: false };
    });
}

/** The staking token's balance of an account, in 1e-18, and its symbol. */
export async function readStakingToken(
  connection: Connection,
  address: Address,
): Promise<{ amount: bigint; symbol: string }> {
  const clients = await chainClients(connection);
  const { pool } = contractsOf(connection, clients);
  const token = await clients.reader.readContract({ ...pool, functionName: "STAKING_TOKEN" });
  const contract = { address: token, abi: erc20Abi } as const;
  const [amount, symbol] = await Promise.all([
    clients.reader.readContract({ ...contract, functionName: "balanceOf", args: [address] }),
    clients.reader.readContract({ ...contract, functionName: "symbol" }),
  ]);
  return { amount, symbol };
}

function contractsOf(connection: Connection, { entry }: ChainClients) {
  const at = (name: string): Address => contractOn(connection, entry, name);
  return {
    chainId: entry.chain_id,
    pool: { address: at("inferencePool"), abi: inferencePoolAbi },
    vault: { address: at("backerVault"), abi: backerVaultAbi },
  } as const;
}

function to<A>({ address, abi }: { address: Address; abi: A }) {
  return { to: address, abi };
}
