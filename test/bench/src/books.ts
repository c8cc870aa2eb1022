import { randomBytes, randomFillSync } from "node:crypto";
import { type Credentials, makeCredentials } from "@inference/gateway/auth/credentials";
import { CHAIN_ID } from "@inference/gateway/test/fund";
import { openDatabase } from "@inference/host-node/database";
import { type NodeLedger, openNodeLedger } from "@inference/host-node/ledger";
import type { PayerCredential } from "@inference/ledger/commands";
import {
  accountPartition,
  ceilingPartition,
  chainPartition,
  type Partition,
  partitionAddress,
} from "@inference/ledger/partition";
import { reserveRequest } from "@inference/ledger/reservation";
import { type Saga, send } from "@inference/ledger/saga";
import type { Address } from "@inference/protocol/credential";
import { makeRequestId } from "@inference/protocol/id";

// Fills a gateway's ledger without a chain, through its own commands: accounts with credit and a key each.

export interface Books {
  readonly ledger: NodeLedger;
  /** The text of every account's key. */
  readonly keys: readonly string[];
  /** A reserve, and its settle in a later commit, as in the gateway. Each resolves once it is durable. */
  reserve(account: number): Promise<{ settle(): Promise<void> }>;
  close(): Promise<void>;
}

export interface BooksOptions {
  readonly file: string;
  readonly secret: Uint8Array;
  readonly accounts: number;
  readonly pastUses: number;
}

const creditNanoUsd = 1_000_000_000_000;
/** Also the ceiling on the chain of every gateway here. */
export const ceilingNanoUsd = 9_000_000_000_000_000;
const holdNanoUsd = 200_000;
const chargeNanoUsd = 123_456;
const leaseMs = 15 * 60_000;

const chain = chainPartition(CHAIN_ID);
const snapshot = "0123456789abcdef";
const detail = JSON.stringify({
  route: "chat",
  model: "bench-model",
  stream: false,
  snapshot,
  bytes: 900,
});

export async function openBooks(options: BooksOptions): Promise<Books> {
  const database = openDatabase(options.file, "FULL");
  const ledger = openNodeLedger(database, {
    now: Date.now,
    epoch: 1,
    onAlert: fail,
    onFatal: fail,
  });
  const credentials = makeCredentials(options.secret, { bytes: randomBytes });
  const owners: { partition: Partition; payer: PayerCredential }[] = [];
  const keys: string[] = [];

  await ledger.run(openCeiling);
  await inGroups(ledger, options.accounts, (account) => {
    const opened = issueKey(credentials, account);
    keys.push(opened.text);
    owners.push({ partition: opened.partition, payer: { kind: "key", digest: opened.digest } });
    return openAccount(opened);
  });

  const ownerOf = (account: number) => {
    const owner = owners[account];
    if (owner === undefined) throw new Error(`there is no account ${account}`);
    return owner;
  };
  await inGroups(ledger, options.pastUses, function* (past) {
    const request = makeRequest(ownerOf(past % options.accounts));
    yield* reserve(request);
    yield* settle(request);
  });

  return {
    ledger,
    keys,
    async reserve(account) {
      const request = makeRequest(ownerOf(account));
      await ledger.run(() => reserve(request));
      return { settle: () => ledger.run(() => settle(request)) };
    },
    async close() {
      await ledger.close();
      database.close();
    },
  };
}

interface Request {
  readonly id: string;
  readonly at: number;
  readonly partition: Partition;
  readonly payer: PayerCredential;
}

function makeRequest(owner: { partition: Partition; payer: PayerCredential }): Request {
  const at = Date.now();
  return { ...owner, id: makeRequestId(at, nextRandom()), at };
}

const pool = new Uint8Array(4_000);
let drawn = pool.length;

/** Ten random bytes, drawn from the system many at a time, as the gateway does. */
function nextRandom(): Uint8Array {
  if (drawn === pool.length) {
    randomFillSync(pool);
    drawn = 0;
  }
  drawn += 10;
  return pool.subarray(drawn - 10, drawn);
}

function* reserve({ id, at, partition, payer }: Request): Saga<void> {
  const reservation = { id, at, owner: partition, payer, amountNanoUsd: holdNanoUsd, leaseMs, detail, chain };
  const { status } = yield* reserveRequest(reservation);
  if (status !== "reserved") throw new Error(`a reserve ended as ${status}`);
}

function* settle({ id, partition }: Request): Saga<void> {
  const at = Date.now();
  const { status } = yield* send(partition, {
    type: "settle",
    id,
    at,
    chargeNanoUsd,
    lossNanoUsd: 0,
    detail,
    snapshot,
  });
  if (status !== "settled") throw new Error(`a settle ended as ${status}`);
}

/** Also makes the chain's partition answer accounts, as after a first reading. */
export function* openCeiling(): Saga<void> {
  yield* send(ceilingPartition, { type: "setCeiling", limitNanoUsd: ceilingNanoUsd });
  yield* send(chain, { type: "reread", at: 1, readyFrom: 0 });
  yield* send(chain, { type: "waitFor", readyFrom: 0 });
}

interface NewAccount {
  readonly partition: Partition;
  readonly account: number;
  /** The key's text. */
  readonly text: string;
  readonly digest: string;
  readonly label: string;
}

export function issueKey(credentials: Credentials, account: number): NewAccount {
  const address = addressOf(account);
  return { partition: accountPartition(address), account, ...credentials.issue("ik", address) };
}

export function* openAccount(account: NewAccount): Saga<void> {
  const totals = { amountToken: "0", totalActivated: "0", accountActivatedNanoUsd: creditNanoUsd };
  const activation = { id: 1, account: partitionAddress(account.partition), ...totals, block: 0, transaction: "0x" };
  yield* send(chain, { type: "creditEarly", at: 1, activations: [activation] });
  yield* makeKey(account);
}

function* makeKey({ partition, account, digest, label }: NewAccount): Saga<void> {
  const at = Date.now();
  yield* send(partition, {
    type: "createKey",
    at,
    keyId: `bench-${account}`,
    digest,
    label,
    name: "bench",
    window: "lifetime",
    limitNanoUsd: null,
    expiresAt: null,
    nonce: `benchnonce${account}`,
    nonceExpiresAt: at + 600_000,
  });
}

/** Runs many sagas a commit. */
async function inGroups(ledger: NodeLedger, count: number, saga: (index: number) => Saga<void>): Promise<void> {
  const groupSize = 2_000;
  for (let begin = 0; begin < count; begin += groupSize) {
    const size = Math.min(groupSize, count - begin);
    await Promise.all(Array.from({ length: size }, (_, index) => ledger.run(() => saga(begin + index))));
  }
}

function addressOf(account: number): Address {
  return `0x${(account + 1).toString(16).padStart(40, "0")}`;
}

function fail(reason: unknown): void {
  throw new Error(`the ledger says: ${String(reason)}`);
}
