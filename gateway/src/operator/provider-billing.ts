import { assertNanoUsd, MAX_NANO_USD, type NanoUsd } from "@inference/protocol/money";
import { within } from "@inference/protocol/timers";
import type { Environment } from "../environment.ts";
import { asObject } from "../json-object.ts";
import { type BillingConfig, fillBillingUrl } from "../upstream/billing-url.ts";
import type { Provider } from "../upstream/provider.ts";
import { isDrift } from "./provider-costs.ts";

/**
 * The provider's charges for a UTC day, by its own record, beside the cost of the day's requests at list prices. If the
 * charges are higher, the operator pays the difference.
 */
export type ProviderBilling = {
  /** Null: it cannot be added up any more. */
  listedOn(day: string): Promise<NanoUsd | null>;
  /** Tells the operator if the provider charged more. Null: the record cannot be read now, and the operator is told. */
  chargedOn(day: string, listedNanoUsd: NanoUsd): Promise<NanoUsd | null>;
};

type Parts = Pick<Environment, "log" | "timers"> & {
  provider: Pick<Provider, "billing">;
  listedOn: ProviderBilling["listedOn"];
  /** Whether `listedOn` has all requests of a day. Without some of them, a higher bill is no alert. */
  listsAll: boolean;
  /** The host stops: a reading ends, and is made again after the next start. */
  stopped?: AbortSignal;
};

/** A page of usage has at most 1,000 rows, and a request two or three of them. */
const MOST_PAGES = 1_000;
/** For all pages of a day. */
const READ_MS = 300_000;

/** Undefined: the provider has no such record, or the operator gave no key for it. */
export function makeProviderBilling(
  billing: BillingConfig | null,
  { log, timers, provider, listedOn, listsAll, stopped }: Parts,
): ProviderBilling | undefined {
  if (billing === null) return undefined;

  async function readCharges(first: string, day: string): Promise<NanoUsd[]> {
    return within(timers, READ_MS, async (late) => {
      const signal = stopped === undefined ? late : AbortSignal.any([late, stopped]);
      const charges: NanoUsd[] = [];
      let url: string | null = first;
      for (let page = 0; url !== null; page++) {
        if (page === MOST_PAGES) throw new Error(`it has more than ${MOST_PAGES} pages`);
        const { status, text } = await provider.billing(url, signal);
        if (status === 401 || status === 403) throw new Error(`the provider refuses UPSTREAM_BILLING_KEY (${status})`);
        if (status !== 200) throw new Error(`the provider answered with ${status}`);
        const record = asObject(JSON.parse(text));
        if (record === undefined || !Array.isArray(record.data)) throw new Error("it has no list `data`");
        for (const row of record.data) charges.push(...chargesOf(asObject(row) ?? {}, day));
        url = nextPage(first, record);
      }
      return charges;
    });
  }

  /** The bill is kept for ever. A bill that is probably incomplete, or another account's, counts as unread. */
  function sumOf(charges: readonly NanoUsd[], listedNanoUsd: NanoUsd): NanoUsd {
    if (charges.length === 0 && listedNanoUsd > 0) throw new Error("it has no charge, and requests were served");
    const sumNanoUsd = charges.reduce((sum, charge) => sum + charge, 0);
    if (sumNanoUsd < 0) throw new Error("its refunds exceed its charges");
    return assertNanoUsd(sumNanoUsd, "the provider's charges of a day");
  }

  return {
    listedOn,
    async chargedOn(day, listedNanoUsd) {
      try {
        const chargedNanoUsd = sumOf(await readCharges(fillBillingUrl(billing.url, day), day), listedNanoUsd);
        const driftNanoUsd = chargedNanoUsd - listedNanoUsd;
        const drift = { day, driftNanoUsd, listedNanoUsd };
        if (listsAll && isDrift(driftNanoUsd, listedNanoUsd)) log("alert", "provider_bill", drift);
        if (isLow(chargedNanoUsd, listedNanoUsd)) log("warn", "provider_bill_low", drift);
        return chargedNanoUsd;
      } catch (error) {
        if (stopped?.aborted) return null;
        log("warn", "provider_bill_unread", { day, why: error instanceof Error ? error.message : String(error) });
        return null;
      }
    },
  };
}

/**
 * The charges of a row, whose form tells what it is: `{timestamp, amount}` of a usage history, in which a debit is
 * negative (Venice); `{date, usage}` of a day's activity (OpenRouter); `{start_time, results: [{amount: {value,
 * currency}}]}` of a day's costs (OpenAI). Throws for any other row, and for one of another day: a provider that ignores
 * the dates of the query would tell the sum of many days.
 */
function chargesOf({ timestamp, amount, date, usage, start_time, results }: Row, day: string): NanoUsd[] {
  if (typeof amount === "number" && isOn(timestamp, day)) return [nanoUsd(-amount)];
  if (typeof usage === "number" && isOn(date, day)) return [nanoUsd(usage)];
  if (!Array.isArray(results) || start_time !== Date.parse(day) / 1_000) {
    throw new Error(`it has a row of another form, or of another day than ${day}`);
  }
  return results.map((result) => {
    const { value, currency } = asObject(asObject(result)?.amount) ?? {};
    if (typeof value !== "number" || currency !== "usd") throw new Error("it has a cost that is not in dollars");
    return nanoUsd(value);
  });
}

/** Less than half of the list price, and by a cent: no discount, but a record that lacks charges. */
function isLow(chargedNanoUsd: NanoUsd, listedNanoUsd: NanoUsd): boolean {
  return 2 * chargedNanoUsd < listedNanoUsd && isDrift(listedNanoUsd - chargedNanoUsd, listedNanoUsd);
}

type Row = Readonly<Record<string, unknown>>;

function isOn(time: unknown, day: string): boolean {
  return typeof time === "string" && time.startsWith(day);
}

function nanoUsd(usd: number): NanoUsd {
  const amount = Math.round(usd * 1e9);
  if (!(Math.abs(amount) <= MAX_NANO_USD)) throw new Error("it has an amount that is too large");
  return amount;
}

/** `nextCursor` is sent alone (Venice), `next_page` with the query before (OpenAI). Throws if a page has no name. */
function nextPage(first: string, { nextCursor, has_more, next_page }: Row): string | null {
  const url = new URL(first);
  if (typeof nextCursor === "string") url.search = `?cursor=${encodeURIComponent(nextCursor)}`;
  else if (has_more === true && typeof next_page === "string") url.searchParams.set("page", next_page);
  else if (has_more !== true && nextCursor == null) return null;
  else throw new Error("it promises a further page, and does not name it");
  return url.href;
}
