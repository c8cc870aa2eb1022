import type { Address } from "@inference/protocol/credential";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import { lowerAllowances } from "../../messages/allowances.ts";
import {
  accountPartition,
  ceilingPartition,
  chainPartition,
  identityPartition,
  type Partition,
} from "../../messages/partition.ts";
import { answer, type BillView } from "../../messages/reads.ts";
import { reserveRequest } from "../../messages/reservation.ts";
import type { Saga } from "../../messages/saga.ts";
import { isRead } from "../../rows/tables.ts";
import { openMemoryHost, type PartitionCopy, type RunningSaga } from "../memory-host.ts";
import { makeChain, NANO_PER_TOKEN, type Root, type SettleRecord, type Transaction, totalsOf } from "./contract.ts";
import { makeLimitTruth } from "./limits.ts";

/**
 * Settlement as a whole: the ledger's accounts and its partition of the chain, settlers, a network that loses, repeats
 * and delays messages, a chain that reorganizes, foreign postings, and restores of old copies. With the fault `limits`
 * also a daily limit of keys, a ceiling that changes, an identity with its capacity, midnights, requests that run beside
 * each other, and processes that die. One random number decides each step.
 */
export type World = {
  step(): void;
  /** Stops all faults, and goes on until nothing changes. */
  quiesce(): void;
  results(): readonly AccountResult[];
};

/** The end of an account. All fields but `bill` are the truth, which no party of the world knows as a whole. */
export type AccountResult = {
  bill: BillView;
  activated: number;
  debited: number;
  /** Each use that was ever settled, also those that a restore lost. */
  uses: ReadonlyMap<string, number>;
  /** The part of each use that the leaves of the booked records charge. */
  charged: ReadonlyMap<string, number>;
  foreign: number;
  /** The uses that the account's rows have. */
  known: ReadonlySet<string>;
  /** The sum of the debits that the account's alerts named. */
  alerted: number;
  /** The debits that the reconciliations do not count as statements', by the chain's records. */
  unstated: number;
};

export type WorldOptions = {
  random: () => number;
  accounts: number;
  /** The faults that happen. */
  faults: ReadonlySet<Fault>;
};

export type Fault =
  | "network"
  | "reorganize"
  | "foreign"
  | "restoreAccount"
  | "restoreChain"
  | "settlers"
  | "ceiling"
  | "limits"
  | "narrow"
  | "restoreIdentity"
  | "restoreCeiling";

type Account = {
  address: Address;
  partition: Partition;
  copies: PartitionCopy[];
  /** The host's epoch: it changes with each restore. */
  epoch: number;
  uses: Map<string, number>;
};

/** A use's part of a statement: a stretch of the account's line. Uses that a restore lost leave gaps between parts. */
type Line = { id: string; fromNanoUsd: number; endsAtNanoUsd: number };

const CEILING = 1_000_000;
/** With the fault `limits`, of a day. */
const KEY_LIMIT = 1_500;
const CAPACITY = 1_000;
/** The ceilings of the fault `limits`, the largest hold, and how often each thing happens. */
const wide = { ceilings: [2_500, 4_000, 6_000], most: 400, atOnce: 4, moves: 5, requests: 3, ends: 1, dayIn: 150 };
/** With the fault `narrow` the ceiling is what refuses. */
const narrow = { ceilings: [400, 500, 600], most: 100, atOnce: 8, moves: 8, requests: 6, ends: 3, dayIn: 300 };
const DUE_AT_ONCE = { postNanoUsd: 1, leastNanoUsd: 1, intervalMs: 0 };
const start = Date.parse("2027-06-15T12:00:00.000Z");
const chainBooks = chainPartition(1);
const key = { kind: "key", digest: "digest" } as const;
const session = { kind: "session", digest: "session" } as const;

export function makeWorld({ random, accounts: count, faults }: WorldOptions): World {
  const chain = makeChain(CEILING);
  const clock = { now: start };
  const accounts: Account[] = Array.from({ length: count }, (_, index) => {
    const address: Address = `0x${String(index + 1).repeat(40)}`;
    return { address, partition: accountPartition(address), copies: [], epoch: 1, uses: new Map() };
  });
  const epochOf = (partition: Partition): number => accounts.find((one) => one.partition === partition)?.epoch ?? 1;
  const host = openMemoryHost({ now: () => clock.now, epoch: epochOf });
  const statements = new Map<Root, readonly Line[]>();
  const network: (() => void)[] = [];
  let mempool: Transaction[] = [];
  /** The records that each settler has sent, and forgets when it restarts. */
  const settlers = [new Set<string>(), new Set<string>()];
  let made = 0;
  const isLimited = faults.has("limits");
  const pace = faults.has("narrow") ? narrow : wide;
  const inPieces = isLimited && random() < 0.5;
  const identity = identityPartition(`0x${"9".repeat(40)}`);
  const identityCopies: PartitionCopy[] = [];
  const ceilingCopies: PartitionCopy[] = [];
  let running: RunningSaga<unknown>[] = [];
  /** The account after which a lost ceiling is told again; null if it is whole. */
  let toldAfter: string | null = null;

  const below = (limit: number): number => Math.floor(random() * limit);
  const has = (fault: Fault, oneIn: number): boolean => faults.has(fault) && below(oneIn) === 0;
  const pick = <T>(list: readonly T[]): T | undefined => list[below(list.length)];
  const billOf = ({ partition }: Account): BillView => answer(host.rows(partition), { type: "bill" });
  const dayNow = (): string => utcDay(start + Math.floor(chain.latest() / 20) * DAY_MS);

  const truth = makeLimitTruth({
    ...{ now: () => clock.now, rows: host.rows, identity, capacityNanoUsd: CAPACITY, keyNanoUsd: KEY_LIMIT },
    accounts: accounts.map((account) => ({
      partition: account.partition,
      activated: () => totalsOf(chain.at(chain.final()), account.address).activated,
      hasHeard: () => host.rows(account.partition).get("bill", "bill")?.heardIn === account.epoch,
    })),
  });

  function setCeiling(limitNanoUsd: number): void {
    host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd });
    truth.setCeiling(limitNanoUsd);
  }

  setCeiling(isLimited ? Math.max(...pace.ceilings) : CEILING);
  host.apply(chainBooks, { type: "reread", at: start, readyFrom: 0 });
  for (const account of accounts) {
    const terms = {
      window: isLimited ? "day" : "lifetime",
      limitNanoUsd: isLimited ? KEY_LIMIT : null,
      expiresAt: null,
      nonce: "n",
      nonceExpiresAt: start,
    } as const;
    const made = { keyId: "key", digest: key.digest, label: "", name: "", ...terms };
    host.apply(account.partition, { type: "createKey", at: start, ...made });
    account.copies.push(host.copy(account.partition));
    chain.mine([{ type: "activate", account: account.address, amountNanoUsd: NANO_PER_TOKEN }]);
  }

  const opened = { digest: session.digest, address: "0x", agentToken: null, expiresAt: Number.MAX_SAFE_INTEGER };
  host.apply(identity, { type: "openSession", at: start, ...opened });
  identityCopies.push(host.copy(identity));
  ceilingCopies.push(host.copy(ceilingPartition));

  function send(deliver: () => void): void {
    if (has("network", 5)) return;
    network.push(deliver);
    if (has("network", 5)) network.push(deliver);
  }

  function deliverSome(): void {
    for (let left = 3; left > 0; left -= 1) {
      const [deliver] = network.splice(faults.has("network") ? below(network.length) : 0, 1);
      deliver?.();
    }
    const delivery = pick(host.outbox());
    if (delivery !== undefined) host.deliver(delivery, { acknowledge: !has("network", 3) });
  }

  function ask({ epoch, address, partition }: Account): void {
    send(() => {
      const reply = host.apply(chainBooks, { type: "inquire", account: address });
      if (reply.status === "not_ready") return;
      send(() => host.apply(partition, { type: "hear", at: clock.now, epoch, ...reply.hearing }));
    });
  }

  function tell(account: Account): void {
    const { toTell } = billOf(account);
    if (toTell === null) return;
    const { address } = account;
    send(() => host.apply(chainBooks, { type: "tell", at: clock.now, account: address, ...toTell }));
  }

  function use(account: Account): void {
    const isHeard = host.rows(account.partition).get("bill", "bill")?.heardIn === account.epoch;
    if (!isHeard) ask(account);
    if (!isHeard) return;
    made += 1;
    const id = `use${made}`;
    const terms = { id, at: clock.now, amountNanoUsd: 1 + below(400), leaseMs: 900_000, payer: key, detail: "{}" };
    const running = host.begin(reserveRequest({ ...terms, owner: account.partition, chain: chainBooks }));
    while (running.step());
    if (running.result?.status !== "reserved" || below(4) === 0) return;
    end(account, id);
  }

  /** Begins a request, which later steps take further. */
  function begin(owner: Partition): void {
    if (running.length >= pace.atOnce) return;
    made += 1;
    const id = `use${made}`;
    if (owner === identity) host.apply(identity, { type: "setCapacity", at: clock.now, limitNanoUsd: CAPACITY });
    const payer = owner === identity ? session : key;
    const terms = { id, at: clock.now, amountNanoUsd: 1 + below(pace.most), leaseMs: 900_000, payer, detail: "{}" };
    running.push(host.begin(repeating(reserveRequest({ ...terms, owner, chain: chainBooks, inPieces }))));
  }

  /** A call without an answer is made again. */
  function* repeating<T>(saga: Saga<T>): Saga<T> {
    let step = saga.next();
    while (!step.done) {
      let reply = yield step.value;
      if (has("network", 5)) reply = yield step.value;
      step = saga.next(reply);
    }
    return step.value;
  }

  function goOn(): void {
    const one = pick(running);
    if (one?.step() === false) running = running.filter((other) => other !== one);
  }

  function end({ partition, uses }: Pick<Account, "partition" | "uses">, id: string): void {
    const hold = host.rows(partition).get("receipt", id);
    if (hold === undefined) return;
    const chargeNanoUsd = below(hold.heldNanoUsd + 1);
    const ended = { id, at: clock.now, chargeNanoUsd, lossNanoUsd: 0, detail: "{}", snapshot: "" };
    const { status } = host.apply(partition, { type: "settle", ...ended });
    if (status !== "settled" || hold.state === "settled") return;
    if (isLimited) host.apply(partition, { type: "settle", ...ended });
    truth.settled(partition, hold, chargeNanoUsd);
    if (chargeNanoUsd > 0) uses.set(id, Math.max(uses.get(id) ?? 0, chargeNanoUsd));
  }

  function seal({ partition }: Account): void {
    host.apply(partition, { type: "seal", at: clock.now, ...DUE_AT_ONCE });
  }

  /** A stand-in for hashing: the same uses have the same root. */
  function nameRoot(account: Account): void {
    const { open } = billOf(account);
    if (open === null || open.root !== null) return;
    const { beforeNanoUsd, afterNanoUsd } = open;
    const { partition } = account;
    const uses = answer(host.rows(partition), { type: "uses", afterNanoUsd: beforeNanoUsd, limit: 100_000 });
    const lines = uses
      .filter(({ endsAtNanoUsd }) => endsAtNanoUsd <= afterNanoUsd)
      .map(({ receipt: id, endsAtNanoUsd, costNanoUsd }) => {
        return { id, fromNanoUsd: Math.max(beforeNanoUsd, endsAtNanoUsd - costNanoUsd), endsAtNanoUsd };
      });
    const root = `root of ${partition} ${beforeNanoUsd} ${JSON.stringify(lines)}`;
    statements.set(root, lines);
    host.apply(partition, { type: "nameRoot", beforeNanoUsd, afterNanoUsd, root, parts: "[]" });
  }

  /** Posts the statements that are due and not in flight. */
  function post(settler: Set<string>): void {
    const due = answer(host.rows(chainBooks), { type: "dueStatements", limit: 100 });
    const records = due.flatMap(({ account, beforeNanoUsd, afterNanoUsd, root }): SettleRecord[] => {
      const name = `${root} ${beforeNanoUsd}`;
      if (settler.has(name)) return [];
      settler.add(name);
      return [{ account, beforeNanoUsd, amountNanoUsd: afterNanoUsd - beforeNanoUsd, root }];
    });
    if (records.length > 0) mempool.push({ type: "settle", day: dayNow(), records });
  }

  function mine(): void {
    const isTaken = mempool.map(() => !has("settlers", 4));
    const isDropped = mempool.map(() => has("settlers", 10));
    chain.mine(mempool.filter((_, index) => isTaken[index] === true));
    mempool = mempool.filter((_, index) => isTaken[index] !== true && isDropped[index] !== true);
  }

  function follow(): void {
    const from = answer(host.rows(chainBooks), { type: "cursor" })?.block ?? 0;
    const block = Math.max(from, Math.min(chain.final(), from + 1 + below(4)));
    const { activations, chunks } = chain.at(block);
    const isNew = (event: { block: number }): boolean => event.block > from;
    const events = { activations: activations.filter(isNew), chunks: chunks.filter(isNew) };
    const reply = host.apply(chainBooks, { type: "advance", at: clock.now, block, blockHash: `${block}`, ...events });
    if (reply.status === "gap") throw new Error(`expected ${reply.expected}, got ${reply.got}`);
  }

  function activate({ address: account }: Account): void {
    mempool.push({ type: "activate", account, amountNanoUsd: below(3) * NANO_PER_TOKEN });
  }

  /** Somebody else posts with the settler's key. */
  function postForeign({ address: account }: Account): void {
    const { activated, debited } = totalsOf(chain.at(chain.latest()), account);
    const amountNanoUsd = Math.min(1 + below(600), activated - debited);
    if (amountNanoUsd === 0) return;
    made += 1;
    const record = { account, beforeNanoUsd: debited, amountNanoUsd, root: `foreign${made}` };
    chain.mine([{ type: "settle", day: dayNow(), records: [record] }]);
  }

  /** Copies that were made after the chosen one are of a past that is given up: docs/restoring.md. */
  function putBack(partition: Partition, copies: PartitionCopy[]): void {
    const at = below(copies.length);
    const copy = copies[at];
    if (copy !== undefined) host.putBack(partition, copy);
    copies.length = Math.min(copies.length, at + 1);
  }

  function restoreAccount(account: Account): void {
    truth.losing(account.partition, () => {
      putBack(account.partition, account.copies);
      host.apply(account.partition, { type: "releaseHolds", at: clock.now });
      account.epoch += 1;
    });
  }

  const owner = { partition: identity, uses: new Map<string, number>() };

  function restoreIdentity(): void {
    truth.losing(identity, () => {
      putBack(identity, identityCopies);
      host.apply(identity, { type: "releaseHolds", at: clock.now });
    });
  }

  /** The ceiling is lost, whatever copy of it there is, and the operator has the accounts tell it again. */
  function loseCeiling(): void {
    truth.losing(ceilingPartition, () => {
      putBack(ceilingPartition, ceilingCopies);
      host.apply(ceilingPartition, { type: "empty", at: clock.now, limit: 1_000 });
    });
    setCeiling(pick(pace.ceilings) ?? CEILING);
    toldAfter = "";
  }

  /** A page of the operator's call, of one account. */
  function tellAgain(): void {
    if (toldAfter === null || !isRead(answer(host.rows(chainBooks), { type: "cursor" }))) return;
    const [account] = answer(host.rows(chainBooks), { type: "payers", after: toldAfter, limit: 1 });
    if (account === undefined) host.apply(ceilingPartition, { type: "fill" });
    const told = account === undefined ? undefined : accountPartition(account as Address);
    toldAfter = account ?? null;
    if (told === undefined) return;
    const saga = host.begin(repeating(lowerAllowances(told, { at: clock.now, limit: ceilingPartition })));
    while (saga.step());
  }

  function fault(account: Account): void {
    if (has("restoreAccount", 60)) restoreAccount(account);
    if (has("restoreChain", 90)) host.apply(chainBooks, { type: "reread", at: clock.now, readyFrom: chain.final() });
    if (has("foreign", 60)) postForeign(account);
    if (has("settlers", 20)) pick(settlers)?.clear();
    if (has("ceiling", 20)) mempool.push({ type: "ceiling", limit: below(3) * 1_000 });
    if (has("reorganize", 20)) mempool.push(...chain.reorganize(1 + below(3)).filter(() => below(5) > 0));
    if (has("restoreIdentity", 60)) restoreIdentity();
    if (has("restoreCeiling", 120)) loseCeiling();
    if (has("limits", 30)) setCeiling(pick(pace.ceilings) ?? CEILING);
    if (has("limits", 60)) running = [];
    if (has("limits", pace.dayIn)) clock.now += DAY_MS - (clock.now % DAY_MS) - 1_000;
  }

  const holdsOf = ({ partition }: Pick<Account, "partition">): string[] =>
    host
      .rows(partition)
      .holds()
      .map(({ id }) => id);

  function step(): void {
    const account = pick(accounts);
    if (account === undefined) return;
    clock.now += isLimited ? below(400) : 1;
    fault(account);
    if (below(6) === 0) account.copies.push(host.copy(account.partition));
    if (has("restoreIdentity", 6)) identityCopies.push(host.copy(identity));
    if (has("restoreCeiling", 6)) ceilingCopies.push(host.copy(ceilingPartition));
    const request = () => (isLimited ? begin(account.partition) : use(account));
    const endOne = () => end(account, pick(holdsOf(account)) ?? "");
    const limited = [
      ...Array.from({ length: pace.requests }, () => request),
      ...[tellAgain, tellAgain, mine, follow],
      () => begin(identity),
      () => activate(account),
      ...Array.from({ length: pace.ends }, () => endOne),
      () => end(owner, pick(holdsOf(owner)) ?? ""),
      () => void running.push(host.begin(repeating(lowerAllowances(account.partition, { at: clock.now })))),
    ];
    const actions = [
      request,
      request,
      endOne,
      () => seal(account),
      () => nameRoot(account),
      () => tell(account),
      () => ask(account),
      deliverSome,
      deliverSome,
      deliverSome,
      () => post(settlers[faults.has("settlers") ? below(2) : 0] ?? new Set()),
      mine,
      follow,
      () => void (below(3) === 0 && activate(account)),
      ...(isLimited ? limited : []),
    ];
    pick(actions)?.();
    if (!isLimited) return;
    for (let left = below(pace.moves); left > 0; left -= 1) goOn();
    truth.check();
  }

  function quiesce(): void {
    faults = new Set();
    for (const one of running) while (one.step());
    mempool.push({ type: "ceiling", limit: Number.MAX_SAFE_INTEGER });
    for (let round = 0; round < 60; round += 1) {
      for (const settler of settlers) {
        settler.clear();
        post(settler);
      }
      mine();
      follow();
      for (const account of accounts) {
        for (const id of holdsOf(account)) end(account, id);
        seal(account);
        nameRoot(account);
        tell(account);
        ask(account);
      }
      while (network.length > 0) deliverSome();
      host.deliverAll();
    }
  }

  return {
    step,
    quiesce,
    results: () =>
      accounts.map((account) => {
        const state = chain.at(chain.latest());
        const own = state.chunks
          .flatMap(({ records }) => records)
          .filter((record) => record.account === account.address);
        const foreign = own
          .filter(({ root }) => !statements.has(root))
          .reduce((sum, one) => sum + one.amountNanoUsd, 0);
        const charged = chargedByLeaves(own, statements);
        const totals = totalsOf(state, account.address);
        const rows = host.rows(account.partition);
        const known = new Set(rows.list("use", { limit: 100_000 }).map(({ receipt }) => receipt));
        const unstated = host
          .rows(chainBooks)
          .list("record", { limit: 100_000 })
          .filter(({ id, isOwn }) => id.startsWith(account.address) && isOwn === 0)
          .reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0);
        const alerted = host.alerts
          .filter((alert) => alert.startsWith(account.partition))
          .reduce((sum, alert) => sum + Number(/(?:debits|statement) of (\d+)/.exec(alert)?.[1] ?? 0), 0);
        return { ...totals, bill: billOf(account), uses: account.uses, charged, foreign, known, alerted, unstated };
      }),
  };
}

/** The part of each leaf's range that the booked records under its root cover. */
function chargedByLeaves(
  booked: readonly SettleRecord[],
  statements: ReadonlyMap<Root, readonly Line[]>,
): Map<string, number> {
  const charged = new Map<string, number>();
  for (const { root, beforeNanoUsd, amountNanoUsd } of booked) {
    for (const { id, fromNanoUsd, endsAtNanoUsd } of statements.get(root) ?? []) {
      const part = Math.min(endsAtNanoUsd, beforeNanoUsd + amountNanoUsd) - Math.max(fromNanoUsd, beforeNanoUsd);
      if (part > 0) charged.set(id, (charged.get(id) ?? 0) + part);
    }
  }
  return charged;
}
