import { randomBytes } from "node:crypto";
import type { Command, Commands } from "@inference/ledger/commands";
import { accountPartition, chainPartition, type Partition } from "@inference/ledger/partition";
import { createKey, dueAtOnce, hear } from "@inference/ledger/testing/example";
import type { Address } from "@inference/protocol/credential";
import type { NanoUsd } from "@inference/protocol/money";
import type { Credentials } from "../src/auth/credentials.ts";
import type { HostParts } from "./host.ts";

/** An account's key: its text, and its fields in the ledger. */
export type TestAccount = { address: Address; key: string; keyId: string; digest: string };
type Terms = "at" | "window" | "limitNanoUsd" | "expiresAt" | "limits" | "models" | "isPrivate";
export type KeyTerms = Partial<Pick<Commands["createKey"]["command"], Terms>>;
export type FundTerms = KeyTerms & { balanceNanoUsd: NanoUsd };
/** Has a partition execute a command. */
export type Put = (partition: Partition, command: Command) => Promise<unknown>;

/** Gives an account a balance and a key, as an activation and a signed message would. */
export async function fund(
  put: Put,
  credentials: Pick<Credentials, "issue">,
  address: Address,
  { balanceNanoUsd, ...terms }: FundTerms,
): Promise<TestAccount> {
  const { command, ...account } = makeKey(credentials, address, terms);
  await activate(put, address, balanceNanoUsd);
  await put(accountPartition(address), command);
  return account;
}

/** The primary chain of gateways under test. */
export const CHAIN_ID = 31_337;

/**
 * Sets an account's total activations in the chain's partition. No chain is read in these tests. The activation is
 * not final, so it needs no earlier one, and accounts can be credited side by side.
 */
export async function activate(put: Put, account: Address, accountActivatedNanoUsd: NanoUsd): Promise<void> {
  await openChain(put);
  const totals = { amountToken: "0", totalActivated: "0", accountActivatedNanoUsd };
  const activation = { id: 1, account, ...totals, block: 0, transaction: "0x" };
  await put(chainPartition(CHAIN_ID), { type: "creditEarly", at: READ_AT, activations: [activation] });
}

/** Has the chain's partition answer accounts from now on. A host that starts has it wait for the chain. */
export async function openChain(put: Put): Promise<void> {
  await put(chainPartition(CHAIN_ID), { type: "reread", at: READ_AT, readyFrom: 0 });
  await put(chainPartition(CHAIN_ID), { type: "waitFor", readyFrom: 0 });
}

/** Debits everything that an account owes, as a final chunk with its statement does. */
export async function debitAll({ put, read, now }: HostParts, address: Address): Promise<void> {
  const partition = accountPartition(address);
  const { activatedNanoUsd, settledNanoUsd: debitedNanoUsd, baseNanoUsd } = await read(partition, { type: "bill" });
  const root = "root";
  await put(partition, { type: "seal", at: now(), ...dueAtOnce });
  const named = { beforeNanoUsd: baseNanoUsd, afterNanoUsd: debitedNanoUsd, root, parts: "[]" };
  await put(partition, { type: "nameRoot", ...named });
  await put(partition, hear(activatedNanoUsd, { at: now(), epoch: null, debitedNanoUsd, lastRoot: root }));
}

/** The number of the one reading, so that each but the first changes nothing. */
const READ_AT = 1;

/** A new key of an account, and the command that makes it known. */
export function makeKey(
  credentials: Pick<Credentials, "issue">,
  address: Address,
  { at = Date.now(), ...terms }: KeyTerms,
): TestAccount & { command: Commands["createKey"]["command"] } {
  const { text, digest, label } = credentials.issue("ik", address);
  const keyId = `key_${randomBytes(8).toString("hex")}`;
  const command = createKey(keyId, { at, digest, label, name: "test", nonceExpiresAt: at, ...terms });
  return { address, key: text, keyId, digest, command };
}
