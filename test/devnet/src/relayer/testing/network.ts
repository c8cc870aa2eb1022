import { ok } from "node:assert/strict";
import { type Anvil, startAnvil } from "@inference/contracts/anvil";
import { dollarPool } from "@inference/contracts/generated/dollar-pool";
import { localToken } from "@inference/contracts/generated/local-token";
import { receiptOf } from "@inference/contracts/receipt";
import { type Address, pad, parseEventLogs } from "viem";
import { account, clientOf, type LocalClient } from "../../testing/local-chain.ts";
import { deployDollarPools } from "../../third-parties/dollar-pools.ts";
import { deployLayerZero, type LayerZeroAddresses } from "../../third-parties/layerzero.ts";
import { deployLocalToken, fundLocalToken } from "../../third-parties/local-token.ts";
import { endpointAbi } from "../abi.ts";
import { decodePacket, type Packet } from "../packet.ts";
import type { RelayerOptions } from "../relayer.ts";

/** Two local chains with LayerZero and a pool of dollars on each. */
export type Network = AsyncDisposable & {
  here: Side;
  there: Side;
  /** Sends dollars from `here` to `there`, without confirmations, for the quoted fee or less. */
  send(amount: bigint, fee?: { lessWei: bigint }): Promise<Packet>;
  options: Omit<RelayerOptions, "log">;
};
export type Side = {
  eid: number;
  rpcUrl: string;
  layerZero: LayerZeroAddresses;
  dollar: Address;
  pool: Address;
  client: LocalClient;
};

export const DOLLAR = 10n ** 18n;
/** Blocks that the relayer waits for. */
export const CONFIRMATIONS = 3;
export const [deployer, alice, bob] = [account(0), account(1), account(2)] as const;
export const workers = { verifiers: [account(3), account(4)], executor: account(5) } as const;
const EIDS = [31337, 31338] as const;

export async function startNetwork(): Promise<Network> {
  const anvils = await Promise.all(EIDS.map((eid) => startAnvil(eid)));
  const sides = await Promise.all(anvils.map((anvil, index) => deploySide(anvil, EIDS[index] ?? 0)));
  const pools = await deployDollarPools(
    deployer,
    sides.map(({ rpcUrl, eid, dollar, layerZero: { endpoint } }) => ({ rpcUrl, eid, dollar, endpoint })),
  );
  const [here, there] = sides.map((side, index): Side => ({ ...side, pool: pools[index] ?? "0x" }));
  ok(here !== undefined && there !== undefined);
  await fund(here, alice.address, 1_000n * DOLLAR);
  await fund(there, there.pool, 1_000n * DOLLAR);
  await approvePool(here);
  return {
    here,
    there,
    send: (amount, { lessWei } = { lessWei: 0n }) => send(here, there, { amount, lessWei }),
    options: {
      accounts: workers,
      confirmations: CONFIRMATIONS,
      pollMs: 10,
      maxPauseMs: 200,
      chains: [here, there].map(({ eid, rpcUrl, layerZero }) => ({
        ...layerZero,
        ...{ eid, chainId: eid, rpcUrl, startBlock: 0 },
      })),
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(anvils.map((anvil) => anvil[Symbol.asyncDispose]()));
    },
  };
}

/** Mines the confirmations of all messages. */
export async function confirmAll(side: Side): Promise<void> {
  await side.client.mine({ blocks: CONFIRMATIONS });
}

export function balanceOf({ client, dollar }: Side, holder: Address): Promise<bigint> {
  return client.readContract({ address: dollar, abi: localToken.abi, functionName: "balanceOf", args: [holder] });
}

export async function fund({ rpcUrl, dollar }: Side, to: Address, amount: bigint): Promise<void> {
  await fundLocalToken({ rpcUrl, token: dollar, issuer: deployer, to, amount });
}

/** How many transactions an account has sent. */
export function sentBy({ client }: Side, { address }: { address: Address }): Promise<number> {
  return client.getTransactionCount({ address });
}

async function deploySide({ rpcUrl }: Anvil, eid: number): Promise<Omit<Side, "pool">> {
  const [first, second] = workers.verifiers;
  const layerZero = await deployLayerZero({
    rpcUrl,
    deployer,
    eid,
    remoteEids: EIDS.filter((other) => other !== eid),
    verifierKeys: [first.address, second.address],
    confirmations: BigInt(CONFIRMATIONS),
  });
  const dollar = await deployLocalToken({ rpcUrl, issuer: deployer, name: "Local Dollar", symbol: "USDL" });
  return { eid, rpcUrl, layerZero, dollar, client: clientOf({ rpcUrl, chainId: eid }) };
}

export async function approvePool(side: Side): Promise<void> {
  const hash = await side.client.writeContract({
    account: alice,
    address: side.dollar,
    abi: localToken.abi,
    functionName: "approve",
    args: [side.pool, 1_000n * DOLLAR],
  });
  await receiptOf(side.client, hash);
}

async function send(from: Side, to: Side, { amount, lessWei }: { amount: bigint; lessWei: bigint }): Promise<Packet> {
  const pool = { address: from.pool, abi: dollarPool.abi } as const;
  const message = {
    dstEid: to.eid,
    to: pad(bob.address),
    amountLD: amount,
    minAmountLD: amount,
    extraOptions: "0x",
    composeMsg: "0x",
    oftCmd: "0x",
  } as const;
  const fee = await from.client.readContract({ ...pool, functionName: "quoteSend", args: [message, false] });
  const hash = await from.client.writeContract({
    account: alice,
    ...pool,
    functionName: "send",
    args: [message, fee, alice.address],
    value: fee.nativeFee - lessWei,
  });
  const { logs } = await receiptOf(from.client, hash);
  const [sent] = parseEventLogs({ abi: endpointAbi, eventName: "PacketSent", logs });
  ok(sent !== undefined);
  return decodePacket(sent.args.encodedPayload);
}
