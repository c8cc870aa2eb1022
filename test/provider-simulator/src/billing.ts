import { attoFromPrice, nanoRoundedUp, smaller } from "./decimal.ts";
import { addTo, dayName, type Spend } from "./keys.ts";
import { type ChargeLine, total } from "./pricing.ts";
import { createRing, type Ring } from "./ring.ts";

const HISTORY = 200_000;
const MAX_GROUPS = 10_000;
const DAY_MS = 86_400_000;
/** Days of which it is kept what each key took. */
const DAYS = 32;
/** Below a tenth of a dollar in all, the account can no longer consume. */
const MINIMUM_BALANCE = 10n ** 17n;

export interface Charge {
  readonly timeMs: number;
  readonly requestId: string;
  readonly model: string;
  readonly keyId: string;
  readonly user: string | null;
  readonly lines: readonly ChargeLine[];
  readonly tokens: { readonly prompt: number; readonly completion: number } | null;
  readonly executionMs: number;
}

/** What one request cost, split by what paid: the day's allowance (DIEM) first, then the balance (USD). */
export interface Bill {
  readonly atto: bigint;
  readonly diemAtto: bigint;
  readonly usdAtto: bigint;
}

export interface BilledCharge extends Charge, Bill {}

export interface Group {
  requests: number;
  atto: bigint;
  nano: bigint;
}

export interface Totals extends Group {
  /** Every finished inference request, billed or not. */
  finished: number;
  readonly byModel: Map<string, Group>;
  readonly byKey: Map<string, Group>;
  readonly byUser: Map<string, Group>;
}

export interface Ledger {
  readonly history: Ring<BilledCharge>;
  readonly totals: Totals;
  usd(): bigint;
  diem(): bigint;
  canConsume(): boolean;
  /** Images and other quoted work need one currency that covers all of it. */
  covers(atto: bigint): boolean;
  charge(charge: Charge): Bill;
  /** What each key took on a UTC day (YYYY-MM-DD), by the key's id. Of the last 32 days on which there was a charge. */
  takenOn(day: string): ReadonlyMap<string, Readonly<Spend>>;
  /** Begins with a new paid balance. */
  setBalance(balanceUsd: string): void;
  /** The allowance of today and each later day. What was taken of today's stays taken. */
  setAllowance(stakedUnits: string): void;
  reset(): void;
}

/** The provider's own books. Work is billed after it ran, so a balance may end slightly below zero. */
export function createLedger(now: () => number): Ledger {
  const history = createRing<BilledCharge>(HISTORY);
  const granted = { usd: 0n, diem: 0n };
  const taken = new Map<string, Map<string, Spend>>();
  let usdSpent = 0n;
  let diemSpent = { day: 0, atto: 0n };
  const totals = emptyTotals();

  const diemToday = (): bigint => {
    const day = Math.floor(now() / DAY_MS);
    if (day !== diemSpent.day) diemSpent = { day, atto: 0n };
    return granted.diem - diemSpent.atto;
  };
  const take = (keyId: string, bill: Bill): void => {
    const day = dayName(now());
    const byKey = taken.get(day) ?? new Map<string, Spend>();
    if (taken.set(day, byKey).size > DAYS) taken.delete([...taken.keys()][0] ?? "");
    const spend = byKey.get(keyId) ?? { usdAtto: 0n, diemAtto: 0n };
    addTo(spend, bill.usdAtto, bill.diemAtto);
    byKey.set(keyId, spend);
  };
  const usd = (): bigint => granted.usd - usdSpent;

  return {
    history,
    totals,
    usd,
    diem: diemToday,
    canConsume: () => usd() + diemToday() >= MINIMUM_BALANCE,
    covers: (atto) => usd() >= atto || diemToday() >= atto,
    charge(charge) {
      const atto = total(charge.lines);
      const available = diemToday();
      const diemAtto = available > 0n ? smaller(atto, available) : 0n;
      const usdAtto = atto - diemAtto;
      diemSpent.atto += diemAtto;
      usdSpent += usdAtto;
      totals.finished += 1;
      if (atto > 0n) take(charge.keyId, { atto, diemAtto, usdAtto });
      if (charge.lines.length > 0) {
        history.add({ ...charge, atto, diemAtto, usdAtto });
        addToTotals(totals, charge, atto);
      }
      return { atto, diemAtto, usdAtto };
    },
    takenOn: (day) => taken.get(day) ?? new Map(),
    setBalance(balanceUsd) {
      granted.usd = attoFromPrice(balanceUsd);
      usdSpent = 0n;
    },
    setAllowance(stakedUnits) {
      granted.diem = attoFromPrice(stakedUnits);
    },
    reset() {
      taken.clear();
      diemSpent = { day: 0, atto: 0n };
      history.clear();
      Object.assign(totals, emptyTotals());
    },
  };
}

function emptyTotals(): Totals {
  return { requests: 0, finished: 0, atto: 0n, nano: 0n, byModel: new Map(), byKey: new Map(), byUser: new Map() };
}

function addToTotals(totals: Totals, charge: Charge, atto: bigint): void {
  const nano = nanoRoundedUp(atto);
  add(totals, atto, nano);
  add(groupOf(totals.byModel, charge.model), atto, nano);
  add(groupOf(totals.byKey, charge.keyId), atto, nano);
  if (charge.user !== null) add(groupOf(totals.byUser, charge.user), atto, nano);
}

function add(group: Group, atto: bigint, nano: bigint): void {
  group.requests += 1;
  group.atto += atto;
  group.nano += nano;
}

function groupOf(groups: Map<string, Group>, name: string): Group {
  const key = groups.has(name) || groups.size < MAX_GROUPS ? name : "(others)";
  const known = groups.get(key);
  if (known !== undefined) return known;
  const group = { requests: 0, atto: 0n, nano: 0n };
  groups.set(key, group);
  return group;
}
