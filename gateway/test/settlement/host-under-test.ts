import type { LedgerClient } from "@inference/ledger/client";
import type { TableName, Tables } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import type { NanoUsd } from "@inference/protocol/money";
import type { ProviderSimulator } from "@inference/provider-simulator/server";

/**
 * A gateway as it runs on some host, in front of the provider simulator, and its books: all that the suites know which
 * every host passes.
 */
export type HostUnderTest = {
  url: string;
  simulator: ProviderSimulator;
  /** A new account with this balance, and a key of it. */
  account(balanceNanoUsd: NanoUsd): Promise<TestAccount>;
  call(path: string, init: { key: string; body: object; signal?: AbortSignal }): Promise<Response>;
  balance(address: Address): Promise<{ settledNanoUsd: NanoUsd; heldNanoUsd: NanoUsd }>;
  read: LedgerClient["read"];
  /** The rows of a table in one partition, from the disk. */
  rows<T extends TableName>(table: T, partition: string): Promise<Tables[T][]>;
  /** What the operator was told of a request's usage. */
  usageAlerts(requestId: string): Promise<string[]>;
  /** The other models that the operator was told of, which answered a request. */
  modelAlerts(requestId: string): Promise<string[]>;
  /** The losses that the operator was told of a request, in nano-dollars. */
  lossAlerts(requestId: string): Promise<NanoUsd[]>;
  stop(): Promise<void>;
};

export type TestAccount = { address: Address; key: string };

export type HostOptions = {
  /** The provider's URL, if it is not the simulator's. */
  provider?: string;
  /** Makes every timer of the gateway this many times shorter. */
  hurry?: number;
};

export type StartHost = (options?: HostOptions) => Promise<HostUnderTest>;
