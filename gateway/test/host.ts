import type { LedgerClient } from "@inference/ledger/client";
import type { Command, ReplyOf } from "@inference/ledger/commands";
import { accountPartition, agentPartition, identityPartition, type Partition } from "@inference/ledger/partition";
import type { TableName, Tables } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import type { NanoUsd } from "@inference/protocol/money";
import { utcDay } from "@inference/protocol/window";
import type { ProviderSimulator } from "@inference/provider-simulator/server";
import type { Credentials } from "../src/auth/credentials.ts";
import type { KeyValueStore } from "../src/environment.ts";
import { type FundTerms, fund, type KeyTerms, makeKey, type TestAccount } from "./fund.ts";

/** A host under test: its gateway in front of the provider simulator, and its ledger. */
export type HostParts = {
  readonly url: string;
  simulator: ProviderSimulator;
  /** Makes credentials that the gateway takes for its own. */
  credentials: Credentials;
  put<C extends Command>(partition: Partition, command: C): Promise<ReplyOf<C>>;
  read: LedgerClient["read"];
  /** The rows of a table in one partition, from the disk, or the one with this id. */
  rows<T extends TableName>(table: T, partition: Partition, id?: string): Promise<Tables[T][]>;
  keyValue: KeyValueStore;
  /** The lines of its log that have this text in them. */
  said(text: string): Promise<LogLine[]>;
  /** The gateway's time. */
  now(): number;
  /**
   * Its clock goes on from there, and prices that are old by then are read again: at once, or with the next request.
   */
  goTo(at: number): Promise<void>;
  /** Has the host send the notices that are due, unless it does by itself. */
  sendNotices(): Promise<void>;
  /** Has the host forget what has been over for a day, in these partitions at least: some do so daily. */
  forget(partitions: readonly Partition[]): Promise<void>;
  /** Extra headers of a request, so that the host learns when its client has left. */
  headersFor(signal: AbortSignal): Record<string, string>;
  stop(): Promise<void>;
};

/** All that the suites know which every host passes. */
export type HostUnderTest = HostParts & {
  /** The accounts of this host. */
  accounts: readonly Address[];
  /** A new account with this balance, and a key of it. */
  account(
    balanceNanoUsd: NanoUsd,
    terms?: Omit<FundTerms, "balanceNanoUsd"> & { address?: Address },
  ): Promise<TestAccount>;
  /** One more key of an account. */
  addKey(address: Address, terms?: KeyTerms): Promise<TestAccount>;
  /** A session of a wallet, or of an agent's token. */
  openSession(identity: Address, terms?: SessionTerms): Promise<string>;
  call(path: string, init?: CallInit): Promise<Response>;
  balance(address: Address): Promise<{ settledNanoUsd: NanoUsd; heldNanoUsd: NanoUsd; availableNanoUsd: NanoUsd }>;
};

export type LogLine = { level: string; event: string; [field: string]: unknown };
export type SessionTerms = {
  /** The owner of the agent's token, for an agent's session. */
  owner?: Address;
  expiresAt?: number;
};
export type CallInit = {
  key?: string;
  body?: unknown;
  method?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
};

export type HostOptions = {
  /** The provider's URL, if it is not the simulator's. */
  provider?: string;
  /** Makes every timer of the gateway this many times shorter. */
  hurry?: number;
  /** No other suite has asked anything of it. */
  fresh?: boolean;
  /** Limits the failures at the provider, as a gateway does unless its operator says otherwise. Needs `fresh`. */
  failures?: boolean;
};

export type StartHost = (options?: HostOptions) => Promise<HostUnderTest>;

export function hostOf<Parts extends HostParts>(parts: Parts): Parts & HostUnderTest {
  const accounts: Address[] = [];
  const more: Omit<HostUnderTest, keyof HostParts> = {
    accounts,
    account(balanceNanoUsd, { address = nextAddress(), ...terms } = {}) {
      accounts.push(address);
      return fund(parts.put, parts.credentials, address, { at: parts.now(), ...terms, balanceNanoUsd });
    },
    async addKey(address, terms = {}) {
      const { command, ...made } = makeKey(parts.credentials, address, { at: parts.now(), ...terms });
      await parts.put(accountPartition(address), command);
      return made;
    },
    async openSession(identity, { owner, expiresAt = parts.now() + 3_600_000 } = {}) {
      const { text, digest } = parts.credentials.issue(owner === undefined ? "is" : "ia", identity);
      const [address, agentToken] = owner === undefined ? [identity, null] : [owner, identity];
      const partition = owner === undefined ? identityPartition(identity) : agentPartition(identity);
      await parts.put(partition, { type: "openSession", at: parts.now(), digest, address, agentToken, expiresAt });
      return text;
    },
    call: (path, { key, body, method = body === undefined ? "GET" : "POST", headers, signal } = {}) =>
      fetch(`${parts.url}${path}`, {
        method,
        headers: {
          // `fetch` sets a form's type itself.
          ...(body instanceof FormData ? {} : { "content-type": "application/json" }),
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(signal === undefined ? {} : parts.headersFor(signal)),
          ...headers,
        },
        ...(body === undefined ? {} : { body: isWritten(body) ? body : JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      }),
    async balance(address) {
      const view = await parts.read(accountPartition(address), { type: "balance", at: parts.now() });
      return { ...view, availableNanoUsd: view.availableNanoUsd ?? 0 };
    },
  };
  return Object.assign(parts, more);
}

function isWritten(body: unknown): body is string | FormData {
  return typeof body === "string" || body instanceof FormData;
}

/** Sets an identity's capacity of today, as if the pool had just been read. */
export async function grantCapacity(host: HostUnderTest, identity: Address, capacityNanoUsd: NanoUsd): Promise<void> {
  const at = host.now();
  await host.put(identityPartition(identity), { type: "setCapacity", at, limitNanoUsd: capacityNanoUsd });
  const record = { upstreamKey: "master", capacityNanoUsd, day: utcDay(at), readAt: at };
  await host.keyValue.put(`vkey:${identity}`, JSON.stringify(record));
}

let lastAddress = 0;
function nextAddress(): Address {
  lastAddress += 1;
  return `0x${lastAddress.toString(16).padStart(40, "0")}`;
}
