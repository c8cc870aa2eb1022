import { randomBytes } from "node:crypto";
import type { Command, Commands } from "@inference/ledger/commands";
import { accountPartition, type Partition } from "@inference/ledger/partition";
import { createKey, credit } from "@inference/ledger/testing/example";
import type { Address } from "@inference/protocol/credential";
import type { NanoUsd } from "@inference/protocol/money";
import type { Credentials } from "../src/auth/credentials.ts";

/** An account's key: its text, and what the ledger knows of it. */
export type TestAccount = { address: Address; key: string; keyId: string; digest: string };
export type KeyTerms = Partial<Pick<Commands["createKey"]["command"], "at" | "window" | "limitNanoUsd" | "expiresAt">>;
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
  const partition = accountPartition(address);
  await put(partition, { ...credit(`test:${account.keyId}`, balanceNanoUsd), at: command.at });
  await put(partition, command);
  return account;
}

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
