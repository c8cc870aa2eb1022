import type { Allow, Commands, Refusal } from "../messages/commands.ts";
import type { Partition } from "../messages/partition.ts";

/** The expected answers of a shared limit, from its rules: the ceiling, and agents' sales. */
export type LimitRow = { account: Partition; day: number; used: number; allowed: number; askedAt: number };
type OwnRow = LimitRow & { limit: Partition };

type Limits = {
  capacityOf(identity: Partition, at: number): number;
  saleLimit(identity: Partition, at: number): { hash: string; limit: number } | undefined;
  /** The identity's own settled amount and holds. */
  ownOf(identity: Partition, at: number): { settled: number; held: number };
  isEmptied(limit: Partition): boolean;
};

const DAY = 86_400_000;
const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + amount, 0);
const percent = (of: number, share: number) => Number((BigInt(of) * BigInt(share)) / 100n);

export function makeLimitModel({ capacityOf, saleLimit, ownOf, isEmptied }: Limits) {
  let rows: OwnRow[] = [];
  const carries = new Map<number, number>();
  let ceiling = 0;
  let hasRaised = false;

  const ofDay = (limit: Partition, at: number) =>
    rows.filter((row) => row.limit === limit && row.day === at - (at % DAY));
  const unusedOf = (row: LimitRow) => row.allowed - row.used;
  const limitOf = (day: number) => Math.max(0, ceiling - (carries.get(day) ?? 0));

  function spent(limit: Partition, at: number): { settled: number; held: number } {
    const all = ofDay(limit, at);
    return { settled: sum(all.map(({ used }) => used)), held: sum(all.map(unusedOf)) };
  }

  function allow(limit: Partition, ask: Allow, clock: number): Commands["allow"]["reply"] {
    const { account, day, askedAt } = ask;
    hasRaised = false;
    const known = ofDay(limit, day).find((row) => row.account === account);
    // Days before yesterday count no more.
    if (day < clock - (clock % DAY) - DAY) {
      return reply({ account, day, used: ask.usedNanoUsd, allowed: ask.leastNanoUsd, askedAt }, null, false);
    }
    const row = known ?? { limit, account, day, used: 0, allowed: 0, askedAt: 0 };
    if (askedAt < row.askedAt) return reply(row, null, false);
    if (askedAt === row.askedAt) return again(row, ask, clock);
    if (known === undefined) rows.push(row);
    row.used = Math.max(row.used, ask.usedNanoUsd);
    row.allowed = Math.max(row.used, ask.leastNanoUsd);
    row.askedAt = askedAt;
    const refusal = refusalOf(row, ask, clock);
    if (refusal !== undefined) return reply(row, refusal, false);
    if (ask.neededNanoUsd <= row.allowed) return reply(row, null, mayStay(row, ask));
    const { settled, held } = spent(limit, day);
    const own = unusedOf(row);
    // A piece is within the account's share, and has the request a second time if it may stay.
    const share = percent(Math.max(0, limitOf(day) - settled - (held - own)), 20);
    const within = (wanted: number) =>
      limit === "ceiling" ? Math.max(ask.neededNanoUsd, Math.min(wanted, row.used + share)) : ask.neededNanoUsd;
    const amount = ask.neededNanoUsd - row.allowed;
    row.allowed = within(ask.wantedNanoUsd);
    if (!mayStay(row, ask)) row.allowed = within(ask.wantedNanoUsd - amount);
    hasRaised = true;
    return reply(row, null, mayStay(row, ask));
  }

  /** Only an ask in pieces wants more than it needs. */
  function mayStay(row: OwnRow, { day, neededNanoUsd, wantedNanoUsd }: Allow): boolean {
    if (row.limit !== "ceiling" || wantedNanoUsd <= neededNanoUsd) return false;
    const others = spent(row.limit, day).held - unusedOf(row);
    return unusedOf(row) <= percent(Math.max(0, percent(limitOf(day), 5) - others), 20);
  }

  /** An ask that came before changes nothing, and is refused if it does not fit now. */
  function again(row: OwnRow, ask: Allow, clock: number): Commands["allow"]["reply"] {
    if (ask.neededNanoUsd <= row.allowed) return reply(row, null, mayStay(row, ask));
    const before = { ...row };
    row.used = Math.max(row.used, ask.usedNanoUsd);
    row.allowed = Math.max(row.used, ask.leastNanoUsd);
    const refusal = refusalOf(row, ask, clock);
    Object.assign(row, before);
    return reply(row, refusal ?? null, refusal === undefined && mayStay(row, ask));
  }

  function refusalOf(row: OwnRow, ask: Allow, clock: number): Refusal | undefined {
    const { day, neededNanoUsd, offer } = ask;
    const { limit, allowed } = row;
    const amount = neededNanoUsd - allowed;
    if (amount <= 0) return undefined;
    const { settled, held } = spent(limit, day);
    const own = unusedOf(row);
    if (limit === "ceiling") {
      return overCeiling({
        day,
        settled,
        own,
        others: held - own,
        amount,
        inPieces: ask.wantedNanoUsd > neededNanoUsd,
      });
    }
    return overOffer(limit, { day, amount, offer, clock, sold: { settled, held } });
  }

  function overCeiling(state: Record<"day" | "settled" | "own" | "others" | "amount", number> & { inPieces: boolean }) {
    const { day, settled, own, others, amount, inPieces } = state;
    const limit = limitOf(day);
    const [unused, largest] = [Math.max(0, limit - settled), percent(limit, 20)];
    const free = Math.max(0, unused - others);
    const midnight = day + DAY;
    const refuse = (cause: Refusal["cause"], available: number, resetsAt: number | null): Refusal => ({
      ...{ budget: "ceiling", cause, neededNanoUsd: amount, availableNanoUsd: Math.max(0, available) },
      ...{ window: "day", resetsAt },
    });
    if (isEmptied("ceiling")) return refuse("held", 0, midnight);
    if (amount > largest && settled < limit) return refuse("share", Math.min(largest, unused), null);
    if (amount > unused) return refuse("settled", free - own, midnight);
    // What stays comes back when the day is over.
    const held = inPieces && amount > free && others <= percent(limit, 5) ? "settled" : "held";
    if (own + amount > free && own + amount <= unused) return refuse(held, free - own, midnight);
    if (own > 0 && own + amount > percent(free, 20)) return refuse("share_held", percent(free, 20) - own, null);
    return undefined;
  }

  function overOffer(
    identity: Partition,
    sale: { day: number; amount: number; offer: string | null; clock: number; sold: { settled: number; held: number } },
  ): Refusal | undefined {
    const { day, amount, offer, clock, sold } = sale;
    const none = { budget: "capacity", neededNanoUsd: amount, window: "day", resetsAt: day + DAY } as const;
    if (isEmptied(identity)) return { ...none, cause: "held", availableNanoUsd: 0 };
    const current = saleLimit(identity, day);
    if (current?.hash !== offer || clock - (clock % DAY) !== day) {
      return { ...none, cause: "settled", availableNanoUsd: 0 };
    }
    const own = ownOf(identity, day);
    const both = { settled: sold.settled + own.settled, held: sold.held + own.held };
    for (const [limit, used] of [
      [current.limit, sold],
      [capacityOf(identity, day), both],
    ] as const) {
      const left = Math.max(0, limit - used.settled - used.held);
      const cause = used.settled + amount > limit ? "settled" : "held";
      if (amount > left) return { ...none, cause, availableNanoUsd: left };
    }
    return undefined;
  }

  function setCarry({ day, amountNanoUsd }: Commands["setCarry"]["command"]): unknown {
    const known = carries.get(Date.parse(day));
    carries.set(Date.parse(day), known ?? amountNanoUsd);
    return { status: (known ?? amountNanoUsd) === amountNanoUsd ? "set" : "conflict" };
  }

  return {
    ...{ allow, spent, setCarry, limitOf },
    setCeiling: (limit: number) => {
      ceiling = limit;
    },
    /** Whether the last ask was given more than what its account used and holds. */
    hasRaised: () => hasRaised,
    empty: (limit: Partition) => {
      rows = rows.filter((row) => row.limit !== limit);
    },
    usedBy: (limit: Partition, account: Partition, at: number): number =>
      ofDay(limit, at).find((row) => row.account === account)?.used ?? 0,
  };
}

function reply(row: LimitRow, refusal: Refusal | null, stays: boolean): Commands["allow"]["reply"] {
  const status = refusal === null ? "allowed" : "refused";
  return { status, usedNanoUsd: row.used, allowedNanoUsd: row.allowed, askedAt: row.askedAt, stays, refusal };
}
