import { randomBytes } from "node:crypto";
import { createChainClient } from "@inference/chain/rpc";
import { createSettlementWatcher } from "@inference/chain/settlement-watcher";
import type { PrimaryChain } from "@inference/chain/testing/primary-chain";
import { makeCredentials } from "@inference/gateway/auth/credentials";
import { openDatabase } from "@inference/host-node/database";
import { type NodeLedger, openNodeLedger } from "@inference/host-node/ledger";
import { timers } from "@inference/host-node/timers";
import { chainPartition, identityPartition, type Partition } from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import { type Saga, send } from "@inference/ledger/saga";
import type { Address } from "@inference/protocol/credential";
import { makeRequestId } from "@inference/protocol/id";
import type { Keccak } from "@inference/protocol/merkle-tree";
import { DAY_MS } from "@inference/protocol/window";
import { createSettler } from "@inference/settler/settler";
import { statementTrees } from "@inference/settler/statement-tree";
import { createStatements } from "@inference/settler/statements";
import { toHex } from "viem";
import { mnemonicToAccount, privateKeyToAccount } from "viem/accounts";
import { inGroups, issueKey, makeKey } from "./books.ts";

/**
 * The books of accounts with credit on a real chain, whose uses are settled on it: by the ledger's commands and the
 * jobs of a gateway, without one.
 */
export type SettledBooks = {
  /** The texts of each account's key and of a session of it. */
  owners: readonly { key: string; session: string }[];
  /** So many uses, of each account in turn. */
  serve(uses: number): Promise<void>;
  /** Seals, hashes and tells what is owed. */
  seal(): Promise<void>;
  /** Posts what was told, until all that the accounts owe is final. */
  post(): Promise<void>;
  close(): Promise<void>;
};

export const CHAIN_ID = 31337;
const CHARGE_NANO_USD = 123_456;
const HOLD_NANO_USD = 200_000;
const CREDIT_TOKEN = 1_000_000_000n;
const CEILING_NANO_USD = 1_000_000_000_000_000n;
/** Odd, so that addresses have the bytes that real ones have: zeros cost less gas. */
const SPREAD = 0x9e3779b97f4a7c15f39cc0605cedc8341082276bn;
const mnemonic = "test test test test test test test test test test test junk";
const settlerKey = mnemonicToAccount(mnemonic, { addressIndex: 4 }).getHdKey().privateKey ?? new Uint8Array();

type Options = {
  chain: PrimaryChain;
  file: string;
  secret: Uint8Array;
  accounts: number;
  keccak: Keccak;
  /** The ledger's rows of each use. */
  snapshot: string;
  detail: string;
};

export async function openSettledBooks(options: Options): Promise<SettledBooks> {
  const { chain, file, secret, accounts, keccak, snapshot, detail } = options;
  const database = openDatabase(file, "NORMAL");
  const ledger = openNodeLedger(database, { now: Date.now, epoch: 1, onAlert: fail, onFatal: fail });
  const common = {
    ...{ ledger, chainId: CHAIN_ID, settlement: chain.settlement, now: Date.now, onAlert: fail },
    client: createChainClient({ url: chain.rpcUrl, fetch, random: Math.random, timers, tries: 3 }),
  };
  const watcher = createSettlementWatcher({
    ...{ ...common, keccak, startBlock: chain.startBlock, confirmations: "finalized" },
  });
  const statements = createStatements({
    ...common,
    terms: { postNanoUsd: 1, leastNanoUsd: 1, intervalMs: 0 },
    makeTree: statementTrees({ chainId: CHAIN_ID, address: chain.settlement }, keccak),
  });
  const settler = createSettler({ ...common, account: privateKeyToAccount(toHex(settlerKey)) });
  const credentials = makeCredentials(secret, { bytes: randomBytes });
  const owners = Array.from({ length: accounts }, (_, index) => {
    const address = addressAt(index);
    return { ...issueKey(credentials, index, address), address, session: credentials.issue("is", address) };
  });

  await chain.raiseCeiling(CEILING_NANO_USD);
  for (const { address } of owners) await chain.activate(address, CREDIT_TOKEN);
  await chain.finalize();
  await follow(watcher);
  await inGroups(ledger, accounts, function* (index) {
    const owner = owners[index] ?? fail("no account");
    yield* makeKey(owner);
    const { address, session } = owner;
    const terms = { digest: session.digest, address, agentToken: null, expiresAt: Date.now() + DAY_MS };
    yield* send(identityPartition(address), { type: "openSession", at: Date.now(), ...terms });
  });

  function* use({ partition, digest }: { partition: Partition; digest: string }): Saga<void> {
    const at = Date.now();
    const id = makeRequestId(at, randomBytes(10));
    const request = { id, at, owner: partition, payer: { kind: "key", digest } as const, detail };
    const terms = { amountNanoUsd: HOLD_NANO_USD, leaseMs: 900_000, chain: chainPartition(CHAIN_ID) };
    const { status } = yield* reserveRequest({ ...request, ...terms });
    if (status !== "reserved") fail(`a reserve ended as ${status}`);
    yield* send(partition, {
      type: "settle",
      id,
      at,
      chargeNanoUsd: CHARGE_NANO_USD,
      lossNanoUsd: 0,
      detail,
      snapshot,
    });
  }

  return {
    owners: owners.map(({ text, session }) => ({ key: text, session: session.text })),
    serve: (uses) => inGroups(ledger, uses, (index) => use(owners[index % accounts] ?? fail("no account"))),
    seal: () => statements.poll(),
    async post() {
      while (!(await isFinal(ledger, owners))) {
        await settler.poll();
        await chain.mine();
        await follow(watcher);
        await statements.poll();
      }
    },
    async close() {
      await ledger.close();
      database.close();
    },
  };
}

async function follow(watcher: { poll(): Promise<{ outcome: string; reason?: string; more?: boolean }> }) {
  for (let isMore = true; isMore; ) {
    const { outcome, reason, more = false } = await watcher.poll();
    if (outcome === "halted" || outcome === "waiting") fail(reason);
    isMore = more;
  }
}

async function isFinal(ledger: NodeLedger, accounts: readonly { partition: Partition }[]): Promise<boolean> {
  for (const { partition } of accounts) {
    const { baseNanoUsd, settledNanoUsd } = await ledger.read(partition, { type: "bill" });
    if (baseNanoUsd !== settledNanoUsd) return false;
  }
  return true;
}

function addressAt(index: number): Address {
  return `0x${((BigInt(index + 1) * SPREAD) % 2n ** 160n).toString(16).padStart(40, "0")}`;
}

function fail(reason: unknown): never {
  throw new Error(`The books were not settled: ${String(reason)}`);
}
