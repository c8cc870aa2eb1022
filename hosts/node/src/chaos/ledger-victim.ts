import { randomBytes } from "node:crypto";
import { appendFileSync } from "node:fs";
import { activate, CHAIN_ID } from "@inference/gateway/test/fund";
import { accountPartition, ceilingPartition, chainPartition } from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import { send } from "@inference/ledger/saga";
import { createKey } from "@inference/ledger/testing/example";
import { makeRequestId } from "@inference/protocol/id";
import { openDatabase } from "../database.ts";
import { openNodeLedger } from "../ledger.ts";

/**
 * A ledger with 64 requests in flight, without a gateway, to be killed during a commit. Arguments: its file, and a file
 * to which it adds the id of each request whose settle is durable. (A pipe may be full, and would refuse an id.)
 */
const [, , file = "", heardFile = ""] = process.argv;
const ACCOUNTS = 4;
const IN_FLIGHT_EACH = 16;
const ledger = openNodeLedger(openDatabase(file), {
  now: Date.now,
  epoch: 1,
  onAlert: fail,
  onFatal: fail,
});

for (const { partition, hold } of ledger.holds()) {
  const release = { type: "release", id: hold.id, at: Date.now(), lossNanoUsd: 0, detail: "{}" } as const;
  await ledger.run(() => send(partition, release));
}
await ledger.run(() => send(ceilingPartition, { type: "setCeiling", limitNanoUsd: 9_000_000_000_000_000 }));
const addresses = Array.from({ length: ACCOUNTS }, (_, n) => `0x${`${n}`.repeat(40)}` as const);
const owners = addresses.map((address) => accountPartition(address));
for (const [n, owner] of owners.entries()) {
  const at = Date.now();
  const address = addresses[n] ?? fail(n);
  await activate((partition, command) => ledger.run(() => send(partition, command)), address, 1_000_000_000_000);
  await ledger.run(() => send(owner, createKey("key", { at, digest: `digest ${n}`, nonceExpiresAt: at })));
}
for (const [n, owner] of owners.entries()) {
  for (let client = 0; client < IN_FLIGHT_EACH; client++) void askForever(owner, `digest ${n}`);
}

async function askForever(owner: ReturnType<typeof accountPartition>, digest: string): Promise<never> {
  for (;;) {
    const at = Date.now();
    const id = makeRequestId(at, randomBytes(10));
    const payer = { kind: "key", digest } as const;
    const chain = chainPartition(CHAIN_ID);
    const reservation = { id, at, owner, payer, amountNanoUsd: 100, leaseMs: 900_000, detail: "{}", chain };
    const { status } = await ledger.run(() => reserveRequest(reservation));
    if (status !== "reserved") fail(status);
    const settle = { type: "settle", id, at, chargeNanoUsd: 60, lossNanoUsd: 0, detail: "{}", snapshot: "00" } as const;
    await ledger.run(() => send(owner, settle), { untilDurable: true });
    // Written at once: what is not in the file by its death was not heard by anybody.
    appendFileSync(heardFile, `${id}\n`);
  }
}

function fail(what: unknown): never {
  console.error(what);
  process.exit(1);
}
