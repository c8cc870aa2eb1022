import { attoFromPrice, nanoRoundedUp, smaller } from "./decimal.ts";
import { addTo, dayName, type Spend } from "./keys.ts";
import { type ChargeLine, total } from "./pricing.ts";

const MAX_CHARGES = 200_000;
/** Days for which the spend of each key is kept. */
const DAYS = 32;

export interface Charge {
  readonly timeMs: number;
  readonly requestId: string;
  readonly keyId: string;
  readonly lines: readonly ChargeLine[];
  readonly tokens: { readonly prompt: number; readonly completion: number } | null;
}

/** The cost of one request, split by currency: the day's allowance (DIEM) first, then the balance (USD). */
export interface Bill extends Readonly<Spend> {
  readonly atto: bigint;
}

export interface Totals {
  requests: number;
  atto: bigint;
  nano: bigint;
}

export interface Ledger {
  /** Charges with a cost, oldest first: at least the last 200,000. */
  readonly history: readonly Charge[];
  readonly totals: Totals;
  /** The rest of today's allowance. */
  diem(): bigint;
  charge(charge: Charge): Bill;
  /** Each key's spend on a UTC day (YYYY-MM-DD), by the key's id. Kept for the last 32 days with a charge. */
  takenOn(day: string): ReadonlyMap<string, Readonly<Spend>>;
  reset(): void;
}

/** @param stakedUnits The allowance of a day in dollars. A change keeps the part that today has already used. */
export function createLedger(now: () => number, stakedUnits: () => string): Ledger {
  const history: Charge[] = [];
  const taken = new Map<string, Map<string, Spend>>();
  const totals: Totals = { requests: 0, atto: 0n, nano: 0n };

  const diem = (): bigint => {
    const spent = [...(taken.get(dayName(now()))?.values() ?? [])];
    return attoFromPrice(stakedUnits()) - spent.reduce((sum, { diemAtto }) => sum + diemAtto, 0n);
  };
  const take = (keyId: string, bill: Bill): void => {
    const day = dayName(now());
    const byKey = taken.get(day) ?? new Map<string, Spend>();
    if (taken.set(day, byKey).size > DAYS) taken.delete([...taken.keys()][0] ?? "");
    const spend = byKey.get(keyId) ?? { usdAtto: 0n, diemAtto: 0n };
    addTo(spend, bill);
    byKey.set(keyId, spend);
  };

  return {
    history,
    totals,
    diem,
    charge(charge) {
      const atto = total(charge.lines);
      const available = diem();
      const diemAtto = available > 0n ? smaller(atto, available) : 0n;
      const bill = { atto, diemAtto, usdAtto: atto - diemAtto };
      if (atto > 0n) take(charge.keyId, bill);
      if (charge.lines.length > 0) {
        history.push(charge);
        if (history.length >= 2 * MAX_CHARGES) history.splice(0, MAX_CHARGES);
        totals.requests += 1;
        totals.atto += atto;
        totals.nano += nanoRoundedUp(atto);
      }
      return bill;
    },
    takenOn: (day) => taken.get(day) ?? new Map(),
    reset() {
      taken.clear();
      history.length = 0;
      Object.assign(totals, { requests: 0, atto: 0n, nano: 0n });
    },
  };
}
