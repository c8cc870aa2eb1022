import type { ChainClient } from "@inference/chain/rpc";
import { createSettlementWatcher, type SettlementWatcher } from "@inference/chain/settlement-watcher";
import type { LedgerClient } from "@inference/ledger/client";
import type { Commands } from "@inference/ledger/commands";
import { sendHeard } from "@inference/ledger/hearing";
import { accountPartition, chainPartition, type Partition } from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import { type MemoryHost, openMemoryHost } from "@inference/ledger/testing/memory-host";
import type { Address } from "@inference/protocol/credential";
import { type Keccak, pureKeccak } from "@inference/protocol/merkle-tree";
import { DAY_MS } from "@inference/protocol/window";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { createSettler, type Settler, type SettlerLimits } from "../settler.ts";
import { statementTrees } from "../statement-tree.ts";
import { createStatements, type Statements } from "../statements.ts";
import { type Audit, createAudit } from "./audit.ts";
import { ACCOUNTS, type ChainEvent, FINALITY_DEPTH } from "./schedule.ts";
import { createSimulatedChain, type SimulatedChain } from "./simulated-chain.ts";
import { createSimulatedNode, type SimulatedNode } from "./simulated-node.ts";
import { totalsOf } from "./simulated-settlement.ts";

/** A gateway's ledger in memory, its jobs, and a simulated chain. Nothing happens by itself. */
export type SimulatedGateway = {
  chain: SimulatedChain;
  node: SimulatedNode;
  host: MemoryHost;
  audit: Audit;
  clock: { now: number };
  /** The host's epoch of each partition. */
  epochs: Map<Partition, number>;
  alerts: string[];
  /** A process with its jobs. `through` may change the calls to node and ledger. */
  start(through?: Partial<Through>, options?: { mayBeCopy?: boolean; keccak?: Keccak }): Jobs;
  happen(event: ChainEvent): void;
  /** A request that is charged half of its hold, if it is admitted. */
  use(account: Address, amountNanoUsd: number): Promise<void>;
};

export type Jobs = { watcher: SettlementWatcher; statements: Statements; settler: Settler };
export type Through = { client(node: ChainClient): ChainClient; ledger(ledger: LedgerClient): LedgerClient };

const privateKey: Hex = "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a";
const settler = privateKeyToAccount(privateKey).address.toLowerCase() as Address;
const settlement: Address = "0x00000000000000000000000000000000005e7713";
const chainId = 31337;
export const partition = chainPartition(chainId);
export const accounts = Array.from({ length: ACCOUNTS }, (_, at): Address => `0x${String(at + 1).repeat(40)}`);
const FIRST_DAY = 20_000 * DAY_MS;
const FIRST_CREDIT_TOKEN = 10_000_000n;
const BLOCK_MS = 12_000;
const DIGEST = "digest of key1";
export const terms = { postNanoUsd: 500_000_000, leastNanoUsd: 1, intervalMs: 600_000 };
/** Two records fit a chunk. */
const usualLimits = { window: 3, maxGas: 146_000, stuckAfterMs: 120_000 };

/** All accounts have credit in a final block. */
export function makeGateway(options: { timeOfDay?: number; limits?: Partial<SettlerLimits> } = {}): SimulatedGateway {
  const { timeOfDay = DAY_MS / 2, limits = usualLimits } = options;
  const clock = { now: FIRST_DAY + timeOfDay };
  const chain = createSimulatedChain({
    ...{ settlement, settler, chainId, finalityDepth: FINALITY_DEPTH, time: seconds(clock.now - 600_000) },
  });
  const node = createSimulatedNode(chain);
  const epochs = new Map<Partition, number>();
  const host = openMemoryHost({ now: () => clock.now, epoch: (where) => epochs.get(where) ?? 1 });
  const audit = createAudit({ chain, host, chainId, accounts });
  const alerts: string[] = [];
  let uses = 0;

  function start(through: Partial<Through> = {}, { mayBeCopy = false, keccak = pureKeccak } = {}): Jobs {
    const audited: LedgerClient = { ...host, run: (saga) => audit.watched(() => host.run(saga)) };
    const client = through.client?.(node) ?? node;
    const ledger = through.ledger?.(audited) ?? audited;
    const onAlert = (message: string) => void alerts.push(message);
    const common = { client, chainId, settlement, ledger, now: () => clock.now, onAlert };
    const makeTree = audit.watchTrees(statementTrees({ chainId, address: settlement }, keccak));
    return {
      watcher: createSettlementWatcher({ ...common, startBlock: 0, confirmations: "finalized", mayBeCopy }),
      statements: createStatements({ ...common, terms, makeTree }),
      settler: createSettler({ ...common, account: privateKeyToAccount(privateKey), limits }),
    };
  }

  function happen(event: ChainEvent): void {
    switch (event.type) {
      case "mine":
        for (let block = 0; block < event.blocks; block++) {
          clock.now += BLOCK_MS;
          chain.mine({ time: seconds(clock.now), takes: event.takes });
        }
        return;
      case "reorg":
        chain.reorg(event.depth, event);
        return;
      case "drop":
        chain.drop();
        return;
      case "fee":
        chain.baseFee = BigInt(event.gwei) * 1_000_000_000n;
        return;
      case "activate":
        chain.activate(accounts[event.account] ?? "0x", BigInt(event.amount) * 1_000_000n);
        return;
      case "ceiling":
        chain.setCeiling(BigInt(event.cents) * 10_000_000n);
        return;
      case "useKey":
        useKey(accounts[event.account] ?? "0x", event.amount);
    }
  }

  function useKey(account: Address, amountNanoUsd: number): void {
    const { state } = chain.blocks.at(-1) ?? { state: undefined };
    if (state === undefined) return;
    const beforeNanoUsd = Number(totalsOf(state, account).debitedNanoUsd);
    const root: Hex = `0x${"f0".repeat(32)}`;
    chain.useKey(amountNanoUsd === 0 ? [] : [{ account, beforeNanoUsd, amountNanoUsd, root, parts: [] }]);
  }

  async function use(account: Address, amountNanoUsd: number): Promise<void> {
    uses += 1;
    const id = `req_${String(uses).padStart(26, "0")}`;
    const owner = accountPartition(account);
    const request = { id, at: clock.now, owner, payer: { kind: "key" as const, digest: DIGEST }, chain: partition };
    const reservation = { ...request, amountNanoUsd, leaseMs: 900_000, detail: "{}" };
    const admission = await host.run(() => reserveRequest(reservation));
    if (admission.status !== "reserved") return;
    const chargeNanoUsd = Math.floor(amountNanoUsd / 2);
    const end = { chargeNanoUsd, lossNanoUsd: 0, detail: "{}", snapshot: "5".repeat(32) };
    const reply = await host.run(() => sendHeard(partition, owner, { type: "settle", id, at: clock.now, ...end }));
    if (reply.status === "settled") audit.used(account, id, chargeNanoUsd);
  }

  for (const account of accounts) {
    chain.activate(account, FIRST_CREDIT_TOKEN);
    host.apply(accountPartition(account), keyOf(clock.now));
  }
  happen({ type: "mine", blocks: FINALITY_DEPTH + 1, takes: true });
  return { chain, node, host, audit, clock, epochs, alerts, start, happen, use };
}

function keyOf(at: number): Commands["createKey"]["command"] {
  const limits = { window: "lifetime", limitNanoUsd: null, expiresAt: null } as const;
  const message = { nonce: "nonce", nonceExpiresAt: at + 600_000 };
  return { type: "createKey", at, keyId: "key1", digest: DIGEST, label: "ik", name: "key1", ...limits, ...message };
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}
