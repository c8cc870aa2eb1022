import { randomBytes } from "node:crypto";
import type { LedgerClient } from "@inference/ledger/client";
import { send } from "@inference/ledger/saga";
import { makeCredentials } from "../../src/auth/credentials.ts";
import { type FundTerms, fund, type TestAccount } from "../fund.ts";

/** Accounts and keys, written into the database of a stopped gateway. */
export type Books = Pick<LedgerClient, "run">;

/** The nth account, with one key of these terms. */
export function bookAccount(ledger: Books, secret: string, number: number, terms: FundTerms): Promise<TestAccount> {
  const credentials = makeCredentials(Buffer.from(secret, "hex"), { bytes: (length) => randomBytes(length) });
  const put = (partition: string, command: Parameters<typeof send>[1]) => ledger.run(() => send(partition, command));
  return fund(put, credentials, `0x${number.toString(16).padStart(40, "0")}`, terms);
}
