import type { Anchor, ChainIdentity } from "@inference/chain/chain-identity";
import {
  createDollarFollower,
  type DollarFollower,
  type DollarFollowerOptions,
} from "@inference/chain/dollar-follower";
import type { Confirmations } from "@inference/chain/heads";
import type { ChainClient } from "@inference/chain/rpc";
import type { ConfiguredContracts } from "@inference/chain/settlement-parts";
import { createSettlementWatcher, type SettlementWatcher } from "@inference/chain/settlement-watcher";
import type { LedgerClient } from "@inference/ledger/client";
import type { Address } from "@inference/protocol/credential";
import type { FollowedChains } from "@inference/protocol/dollars";
import type { Keccak } from "@inference/protocol/merkle-tree";
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { type Billing, createReconciler, type Reconciler } from "./reconcile.ts";
import type { SettlerAccount } from "./settlement-contract.ts";
import { createSettler, type Settler } from "./settler.ts";

/** The settings of the money path, which are among the gateway's. */
export type MoneySettings = ConfiguredContracts & {
  PRIMARY_RPC_URL: string;
  PRIMARY_CHAIN_ID: number;
  PRIMARY_ANCHOR?: Anchor | undefined;
  WITNESS_RPC_URL?: string | undefined;
  SETTLEMENT_ADDRESS: Address;
  SETTLEMENT_START_BLOCK: number;
  CONFIRMATIONS: Confirmations;
  CHAIN_STALLED_AFTER_MS?: number | undefined;
  SETTLER_PRIVATE_KEY?: Hex | undefined;
  SETTLER_WINDOW: number;
};

export type MoneyHost = {
  ledger: LedgerClient;
  clientOf(rpcUrl: string): ChainClient;
  now(): number;
  /** The event is the log's. */
  onAlert(event: "chain" | "settler" | "reconciliation" | "dollars", message: string): void;
  /** The settler, if its key is no setting. */
  account?: SettlerAccount | undefined;
  keccak?: Keccak;
  /** Whether the ledger may have been put back before the start. */
  mayBeCopy?: boolean;
  billing?: Billing | undefined;
  /** The secondary chains whose dollars are followed; null: none. */
  followed: FollowedChains | null;
  /** Stores what the follower of the dollars has read. */
  dollarStore: DollarFollowerOptions["store"];
};

/** A host polls it: it reads the primary chain into the ledger, posts statements, and reconciles the days. */
export type MoneyPath = {
  identity: ChainIdentity;
  client: ChainClient;
  watcher: SettlementWatcher;
  /** Undefined without a key. */
  settler: Settler | undefined;
  reconciler: Reconciler;
  /** Undefined without a node of any secondary chain. */
  dollars: DollarFollower | undefined;
};

export const RECONCILE_MS = 600_000;

export function openMoneyPath(settings: MoneySettings, given: MoneyHost): MoneyPath {
  const { clientOf, onAlert, followed, dollarStore: store, ...host } = given;
  const { SETTLEMENT_ADDRESS: settlement, SETTLER_PRIVATE_KEY: privateKey, WITNESS_RPC_URL: witness } = settings;
  const identity: ChainIdentity = {
    chainId: settings.PRIMARY_CHAIN_ID,
    settlement,
    anchor: settings.PRIMARY_ANCHOR,
    contracts: settings,
  };
  const client = clientOf(settings.PRIMARY_RPC_URL);
  const account = host.account ?? (privateKey && privateKeyToAccount(privateKey));
  const parts = { ...identity, ...host, client };
  const alertOf = (event: Parameters<typeof onAlert>[0]) => ({ onAlert: (text: string) => onAlert(event, text) });
  return {
    identity,
    client,
    watcher: createSettlementWatcher({
      ...parts,
      secondNode: witness === undefined ? undefined : clientOf(witness),
      startBlock: settings.SETTLEMENT_START_BLOCK,
      confirmations: settings.CONFIRMATIONS,
      stalledAfterMs: settings.CHAIN_STALLED_AFTER_MS,
      ...alertOf("chain"),
    }),
    settler:
      account &&
      createSettler({ ...parts, account, limits: { window: settings.SETTLER_WINDOW }, ...alertOf("settler") }),
    reconciler: createReconciler({ ...parts, ...alertOf("reconciliation") }),
    dollars:
      followed === null
        ? undefined
        : createDollarFollower({
            ...{ followed, clientOf, store, now: host.now, confirmations: settings.CONFIRMATIONS },
            ...alertOf("dollars"),
          }),
  };
}
