import type { Address } from "@inference/protocol/credential";
import { DAY_MS, utcDay } from "@inference/protocol/window";
import { accountPartition, ceilingPartition, chainPartition, type Partition } from "../../messages/partition.ts";
import { answer, type BillView } from "../../messages/reads.ts";
import { reserveRequest } from "../../messages/reservation.ts";
import { openMemoryHost, type PartitionCopy } from "../memory-host.ts";
import { makeChain, NANO_PER_TOKEN, type Root, type SettleRecord, type Transaction, totalsOf } from "./contract.ts";

/**
 * Settlement as a whole: the ledger's accounts and its partition of the chain, settlers, a network that loses, repeats
 * and delays messages, a chain that reorganizes, foreign postings, and restores of old copies. One random number
 * decides each step.
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
};

export type WorldOptions = {
  random: () => number;
  accounts: number;
  /** The faults that happen. */
  faults: ReadonlySet<Fault>;
};

export type Fault = "network" | "reorganize" | "foreign" | "restoreAccount" | "restoreChain" | "settlers" | "ceiling";

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
const DUE_AT_ONCE = { postNanoUsd: 1, leastNanoUsd: 1, intervalMs: 0 };
const start = Date.parse("2027-06-15T12:00:00.000Z");
const chainBooks = chainPartition(1);
const payer = { kind: "key", digest: "digest" } as const;

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

  const below = (limit: number): number => Math.floor(random() * limit);
  const has = (fault: Fault, oneIn: number): boolean => faults.has(fault) && below(oneIn) === 0;
  const pick = <T>(list: readonly T[]): T | undefined => list[below(list.length)];
  const billOf = ({ partition }: Account): BillView => answer(host.rows(partition), { type: "bill" });
  const dayNow = (): string => utcDay(start + Math.floor(chain.latest() / 20) * DAY_MS);

  host.apply(ceilingPartition, { type: "setCeiling", limitNanoUsd: CEILING });
  host.apply(chainBooks, { type: "reread", at: start, readyFrom: 0 });
  for (const account of accounts) {
    const terms = {
      window: "lifetime",
      limitNanoUsd: null,
      expiresAt: null,
      nonce: "n",
      nonceExpiresAt: start,
    } as const;
    const key = { keyId: "key", digest: "digest", label: "", name: "", ...terms };
    host.apply(account.partition, { type: "createKey", at: start, ...key });
    account.copies.push(host.copy(account.partition));
    chain.mine([{ type: "activate", account: account.address, amountNanoUsd: NANO_PER_TOKEN }]);
  }

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
    const terms = { id, at: clock.now, amountNanoUsd: 1 + below(400), leaseMs: 900_000, payer, detail: "{}" };
    const running = host.begin(reserveRequest({ ...terms, owner: account.partition, chain: chainBooks }));
    while (running.step());
    if (running.result?.status !== "reserved" || below(4) === 0) return;
    end(account, id);
  }

  function end({ partition, uses }: Account, id: string): void {
    const hold = host.rows(partition).get("receipt", id);
    if (hold === undefined) return;
    const chargeNanoUsd = below(hold.heldNanoUsd + 1);
    const ended = { id, at: clock.now, chargeNanoUsd, lossNanoUsd: 0, detail: "{}", snapshot: "" };
    const { status } = host.apply(partition, { type: "settle", ...ended });
    if (status === "settled" && chargeNanoUsd > 0) uses.set(id, Math.max(uses.get(id) ?? 0, chargeNanoUsd));
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
  function restoreAccount(account: Account): void {
    const at = below(account.copies.length);
    const copy = account.copies[at];
    if (copy !== undefined) host.putBack(account.partition, copy);
    account.copies.length = Math.min(account.copies.length, at + 1);
    host.apply(account.partition, { type: "releaseHolds", at: clock.now });
    account.epoch += 1;
  }

  function fault(account: Account): void {
    if (has("restoreAccount", 60)) restoreAccount(account);
    if (has("restoreChain", 90)) host.apply(chainBooks, { type: "reread", at: clock.now, readyFrom: chain.final() });
    if (has("foreign", 60)) postForeign(account);
    if (has("settlers", 20)) pick(settlers)?.clear();
    if (has("ceiling", 20)) mempool.push({ type: "ceiling", limit: below(3) * 1_000 });
    if (has("reorganize", 20)) mempool.push(...chain.reorganize(1 + below(3)).filter(() => below(5) > 0));
  }

  const holdsOf = ({ partition }: Account): string[] =>
    host
      .rows(partition)
      .holds()
      .map(({ id }) => id);

  function step(): void {
    const account = pick(accounts);
    if (account === undefined) return;
    clock.now += 1;
    fault(account);
    if (below(6) === 0) account.copies.push(host.copy(account.partition));
    const actions = [
      () => use(account),
      () => use(account),
      () => end(account, pick(holdsOf(account)) ?? ""),
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
    ];
    pick(actions)?.();
  }

  function quiesce(): void {
    faults = new Set();
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
        return { ...totalsOf(state, account.address), bill: billOf(account), uses: account.uses, charged, foreign };
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
