import {
  type AccountState,
  type Hearing,
  hear,
  newAccount,
  reserve,
  seal,
  settle,
  statementToTell,
  type Use,
} from "./account.ts";
import { type Booked, makeChain, type Root, type SettleRecord, type Transaction, totalsOf } from "./contract.ts";

/**
 * Model of settlement as a whole: accounts, the chain's partition, settlers, a network that loses, repeats and delays
 * messages, a chain that reorganizes, foreign postings, and restores of old copies. One random number decides each step.
 */
export type World = {
  step(): void;
  /** Stops all faults, and goes on until nothing changes. */
  quiesce(): void;
  results(): readonly AccountResult[];
};

/** The end of an account. All fields but `state` are the truth, which no party of the model knows as a whole. */
export type AccountResult = {
  state: AccountState;
  activated: number;
  debited: number;
  /** Each use that was ever settled, also those that a restore lost. */
  uses: ReadonlyMap<string, number>;
  /** The part of each use that the leaves of the booked records charge. */
  charged: ReadonlyMap<string, number>;
  foreign: number;
  isRestored: boolean;
};

export type WorldOptions = {
  random: () => number;
  accounts: number;
  /** The faults that happen. */
  faults: ReadonlySet<Fault>;
};

export type Fault = "network" | "reorganize" | "foreign" | "restoreAccount" | "restoreChain" | "settlers" | "ceiling";

type Message = { deliver(): void };

type Account = {
  name: string;
  state: AccountState;
  copies: AccountState[];
  /** Changes with each restore, so that an answer to an earlier question does not count. */
  incarnation: number;
  uses: Map<string, number>;
  foreign: number;
  isRestored: boolean;
};

type ChainPartition = {
  replay: number;
  cursor: number;
  /** Answers begin at this final block. */
  readyAt: number;
  told: Map<string, NonNullable<Hearing["told"]>>;
};

const CEILING = 1_000_000;

export function makeWorld({ random, accounts: count, faults }: WorldOptions): World {
  const chain = makeChain(CEILING);
  const accounts: Account[] = Array.from({ length: count }, (_, index) => ({
    name: `account${index}`,
    state: newAccount,
    copies: [newAccount],
    incarnation: 0,
    uses: new Map(),
    foreign: 0,
    isRestored: false,
  }));
  const partition: ChainPartition = { replay: 0, cursor: 0, readyAt: 0, told: new Map() };
  const statements = new Map<Root, { before: number; lines: readonly Use[] }>();
  const network: Message[] = [];
  let mempool: Transaction[] = [];
  /** The roots that each settler has sent, and forgets when it restarts. */
  const settlers = [new Set<string>(), new Set<string>()];
  let made = 0;

  const below = (limit: number): number => Math.floor(random() * limit);
  const has = (fault: Fault, oneIn: number): boolean => faults.has(fault) && below(oneIn) === 0;
  const pick = <T>(list: readonly T[]): T | undefined => list[below(list.length)];

  function send(deliver: () => void): void {
    if (has("network", 5)) return;
    network.push({ deliver });
    if (has("network", 5)) network.push({ deliver });
  }

  function deliverOne(): void {
    const index = faults.has("network") ? below(network.length) : 0;
    const [message] = network.splice(index, 1);
    message?.deliver();
  }

  function ask(account: Account): void {
    const { incarnation, name } = account;
    send(() => {
      if (partition.cursor < partition.readyAt) return;
      const told = partition.told.get(name) ?? null;
      const hearing = { ...totalsOf(chain.at(partition.cursor), name), replay: partition.replay, told };
      send(() => {
        account.state = hear(account.state, hearing, incarnation === account.incarnation);
      });
    });
  }

  /** Tells the chain's partition the open statement. The larger one counts. */
  function tell({ name, state }: Account): void {
    const told = statementToTell(state);
    if (told === null) return;
    send(() => {
      const known = partition.told.get(name);
      if (known !== undefined && compare(known, told) >= 0) return;
      partition.told.set(name, told);
    });
  }

  function use(account: Account): void {
    made += 1;
    const id = `use${made}`;
    const reserved = reserve(account.state, id, 1 + below(20));
    if (reserved === account.state) return;
    account.state = reserved;
    if (below(4) === 0) return;
    end(account, id);
  }

  function end(account: Account, id: string): void {
    const held = account.state.holds.get(id) ?? 0;
    const cost = below(held + 1);
    const settled = settle(account.state, id, cost);
    if (settled === account.state) return;
    account.state = settled;
    if (cost > 0) account.uses.set(id, cost);
  }

  function sealOpen(account: Account): void {
    made += 1;
    account.state = seal(account.state, `root${made}`);
    const { open } = account.state;
    if (open?.root === `root${made}`) statements.set(open.root, { before: open.before, lines: open.lines ?? [] });
  }

  /** Posts the statements that are due and not in flight. */
  function post(settler: Set<string>): void {
    if (partition.cursor < partition.readyAt) return;
    const records: SettleRecord[] = [];
    for (const [account, { before, after, root }] of partition.told) {
      const { debited } = totalsOf(chain.at(partition.cursor), account);
      const name = `${root} ${before}`;
      if (before !== debited || settler.has(name)) continue;
      settler.add(name);
      records.push({ account, before, amount: after - before, root });
    }
    if (records.length > 0) mempool.push({ type: "settle", day: Math.floor(chain.latest() / 20), records });
  }

  function mine(): void {
    const isTaken = mempool.map(() => !has("settlers", 4));
    const isDropped = mempool.map(() => has("settlers", 10));
    chain.mine(mempool.filter((_, index) => isTaken[index] === true));
    mempool = mempool.filter((_, index) => isTaken[index] !== true && isDropped[index] !== true);
  }

  function follow(): void {
    partition.cursor = Math.max(partition.cursor, Math.min(chain.final(), partition.cursor + 1 + below(4)));
    for (const [name, { after }] of partition.told) {
      if (totalsOf(chain.at(partition.cursor), name).debited >= after) partition.told.delete(name);
    }
  }

  function activate({ name }: Account): void {
    mempool.push({ type: "activate", account: name, amount: 50 + below(200) });
  }

  /** Somebody else posts with the settler's key. */
  function postForeign(account: Account): void {
    const { activated, debited } = totalsOf(chain.at(chain.latest()), account.name);
    const amount = Math.min(1 + below(30), activated - debited);
    if (amount === 0) return;
    made += 1;
    const record = { account: account.name, before: debited, amount, root: `foreign${made}` };
    chain.mine([{ type: "settle", day: Math.floor(chain.latest() / 20), records: [record] }]);
  }

  function restoreAccount(account: Account): void {
    const copy = pick(account.copies) ?? newAccount;
    account.state = { ...copy, hasHeard: false };
    account.incarnation += 1;
    account.isRestored = true;
  }

  function restoreChain(): void {
    partition.replay += 1;
    partition.cursor = 0;
    partition.readyAt = chain.latest() + 1;
    partition.told.clear();
  }

  function fault(account: Account): void {
    if (has("restoreAccount", 60)) restoreAccount(account);
    if (has("restoreChain", 90)) restoreChain();
    if (has("foreign", 60)) postForeign(account);
    if (has("settlers", 20)) pick(settlers)?.clear();
    if (has("ceiling", 20)) mempool.push({ type: "ceiling", limit: below(3) * 50 });
    if (has("reorganize", 20)) mempool.push(...chain.reorganize(1 + below(3)).filter(() => below(5) > 0));
  }

  function step(): void {
    const account = pick(accounts);
    if (account === undefined) return;
    fault(account);
    if (below(6) === 0) account.copies.push(account.state);
    const actions = [
      () => use(account),
      () => use(account),
      () => end(account, pick([...account.state.holds.keys()]) ?? ""),
      () => sealOpen(account),
      () => tell(account),
      () => ask(account),
      deliverOne,
      deliverOne,
      deliverOne,
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
        for (const id of account.state.holds.keys()) end(account, id);
        sealOpen(account);
        tell(account);
        ask(account);
      }
      while (network.length > 0) deliverOne();
    }
  }

  return {
    step,
    quiesce,
    results: () =>
      accounts.map(({ name, state, uses, isRestored }) => {
        const { booked } = chain.at(chain.latest());
        const own = booked.filter(({ account }) => account === name);
        const foreign = own.filter(({ root }) => !statements.has(root)).reduce((sum, { amount }) => sum + amount, 0);
        const charged = chargedByLeaves(own, statements);
        return { ...totalsOf(chain.at(chain.latest()), name), state, uses, charged, foreign, isRestored };
      }),
  };
}

function compare(one: { before: number; after: number }, other: { before: number; after: number }): number {
  return one.before - other.before || one.after - other.after;
}

/** The part of each leaf's range that the booked records under its root cover. */
function chargedByLeaves(
  booked: readonly Booked[],
  statements: ReadonlyMap<Root, { before: number; lines: readonly Use[] }>,
): Map<string, number> {
  const charged = new Map<string, number>();
  for (const { root, before, amount } of booked) {
    const statement = statements.get(root);
    let from = statement?.before ?? 0;
    for (const { id, cost } of statement?.lines ?? []) {
      const part = Math.min(from + cost, before + amount) - Math.max(from, before);
      if (part > 0) charged.set(id, (charged.get(id) ?? 0) + part);
      from += cost;
    }
  }
  return charged;
}
