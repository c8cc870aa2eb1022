import { randomBytes } from "node:crypto";
import type { LedgerClient } from "@inference/ledger/client";
import { accountPartition, ceilingPartition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import type { Address } from "@inference/protocol/credential";
import type { NanoUsd } from "@inference/protocol/money";
import type { Window } from "@inference/protocol/window";
import { makeCredentials } from "../../src/auth/credentials.ts";

/** Accounts and keys, written into a gateway's books while no gateway runs on them. */
export type BookedKey = { address: Address; key: string; keyId: string };
export type KeyTerms = { balanceNanoUsd: NanoUsd; window?: Window; limitNanoUsd?: NanoUsd };
export type Books = Pick<LedgerClient, "run">;

export async function setCeiling(ledger: Books, limitNanoUsd: NanoUsd): Promise<void> {
  await ledger.run(() => send(ceilingPartition, { type: "setCeiling", limitNanoUsd }));
}

/** The nth account, with one key of these terms. */
export async function bookAccount(ledger: Books, secret: string, number: number, terms: KeyTerms): Promise<BookedKey> {
  const address: Address = `0x${number.toString(16).padStart(40, "0")}`;
  const credentials = makeCredentials(Buffer.from(secret, "hex"), { bytes: (length) => randomBytes(length) });
  const { text, digest, label } = credentials.issue("ik", address);
  const partition = accountPartition(address);
  const at = Date.now();
  const keyId = `key_${number}`;
  await ledger.run(function* () {
    const amountNanoUsd = terms.balanceNanoUsd;
    yield* send(partition, { type: "credit", id: `31337:${number}`, at, amountNanoUsd, detail: "{}" });
    yield* send(partition, {
      type: "createKey",
      at,
      keyId,
      digest,
      label,
      name: "chaos",
      window: terms.window ?? "lifetime",
      limitNanoUsd: terms.limitNanoUsd ?? null,
      expiresAt: null,
      nonce: `nonce${number}nonce`,
      nonceExpiresAt: at,
    });
  });
  return { address, key: text, keyId };
}
