import { DAY_MS, utcDay } from "@inference/protocol/window";
import { readStatus } from "../activate.ts";
import { chainClients } from "../chain-clients.ts";
import { gatewayTime } from "../clock.ts";
import type { Connection } from "../connection.ts";
import { contractOn, isPinned } from "../directory.ts";
import { RefusedError } from "../errors.ts";
import { requestText } from "../request.ts";
import { requireAccount } from "../send.ts";
import {
  type ListedReceipt,
  readActivity,
  readCredits,
  readStatements,
  receipts,
  type StatementUse,
  statementUses,
} from "../spending.ts";
import { collectBooks } from "./collect-books.ts";
import { collectChain } from "./collect-chain.ts";
import type { Evidence, Period, RequestLog } from "./evidence.ts";
import { type Statement, startOf, statementsOf } from "./statements.ts";

/** Reads all evidence of the checks. Needs an account that signs in: a key does not see the whole account. */
export async function collectEvidence(given: Connection, log: RequestLog | null): Promise<Evidence> {
  const { connection, ...origin } = await originOf(given);
  const { credits, listed, totals } = await readSpending(connection);
  const { records, waiting_for: waitingFor } = await readStatements(connection);
  const uses: StatementUse[] = [];
  for await (const use of statementUses(connection)) {
    // This use was settled after the balance was read.
    if (use.ends_at_nano_usd > credits.total_usage_nano_usd) break;
    uses.push(use);
  }
  const said = {
    ...{ records, uses, receipts: listed, prices: await readPrices(connection, uses, listed) },
    retentionDays: (await readStatus(connection)).receipt_retention_days,
    balance: { credits, totals, waitingFor },
  };
  const chain = await collectChain(await chainClients(connection), { ...origin, said });
  return { ...origin, period: null, said, chain, books: await collectBooks(connection), log };
}

/**
 * The bill of some days: the whole final statements from the first use of these days to the last one, and the uses
 * without a statement.
 */
export async function collectBill(given: Connection, period: Period, log: RequestLog | null): Promise<Evidence> {
  const { connection, ...origin } = await originOf(given);
  const { records: all } = await readStatements(connection);
  const statements = statementsOf(all);
  const found = await readUsesOf(connection, period, statements);
  const isIn = ({ day_served: day }: StatementUse) => day >= period.from && day <= period.to;
  const [first, last] = [found.find(isIn), found.findLast(isIn)];
  const [start, end] = [first === undefined ? 0 : startOf(first), last?.ends_at_nano_usd ?? 0];
  const billed = statements.filter((each) => each.paidToNanoUsd > start && each.beforeNanoUsd < end);
  const from = Math.min(start, billed[0]?.beforeNanoUsd ?? start);
  const to = Math.max(end, billed.at(-1)?.paidToNanoUsd ?? end);
  const uses = found.filter((use) => use.ends_at_nano_usd > from && startOf(use) < to);
  const days = uses.map(({ day_served: day }) => day).sort();
  const listed: ListedReceipt[] = [];
  const ofDays = { from: days[0] ?? period.from, to: days.at(-1) ?? period.to };
  for await (const receipt of receipts(connection, ofDays)) listed.push(receipt);
  const said = {
    ...{ records: billed.flatMap(({ records }) => records), uses, receipts: listed },
    ...{ prices: await readPrices(connection, uses, listed), balance: null },
    retentionDays: (await readStatus(connection)).receipt_retention_days,
  };
  const chain = await collectChain(await chainClients(connection), { ...origin, said });
  return { ...origin, period, said, chain, books: null, log };
}

/** The uses, from the first statement that may have a use of these days. */
async function readUsesOf(connection: Connection, { from, to }: Period, statements: readonly Statement[]) {
  // The ceiling of the previous day pays until 06:00.
  const earliest = utcDay(Date.parse(from) - DAY_MS);
  const first = statements.find(({ records }) => records.some(({ chunk }) => chunk.day >= earliest));
  const after = first?.beforeNanoUsd ?? statements.at(-1)?.paidToNanoUsd ?? 0;
  // A use settles in the order in which requests end, up to a day after its admission.
  const latest = utcDay(Date.parse(to) + DAY_MS);
  const uses: StatementUse[] = [];
  let end = Number.POSITIVE_INFINITY;
  for await (const use of statementUses(connection, after)) {
    if (startOf(use) >= end) break;
    uses.push(use);
    if (use.day_served <= latest || end < Number.POSITIVE_INFINITY) continue;
    end = statements.find(({ paidToNanoUsd }) => paidToNanoUsd >= use.ends_at_nano_usd)?.paidToNanoUsd ?? 0;
  }
  return uses;
}

async function originOf(given: Connection) {
  const { address: account } = requireAccount(given);
  const connection = { ...given, apiKey: null };
  const { entry } = await chainClients(connection);
  const chainId = entry.chain_id;
  return {
    ...({ connection, version: 4, gateway: connection.gateway, account } as const),
    madeAt: new Date(await gatewayTime(connection)).toISOString(),
    contract: {
      chainId,
      address: contractOn(connection, entry, "inferenceSettlement"),
      named: entry.contracts.inferenceSettlement ?? null,
      isPinned: isPinned(connection, chainId, "inferenceSettlement"),
    },
  };
}

/** Receipts, totals and balance of one moment. They are read again after a charge in between. */
async function readSpending(connection: Connection) {
  for (let tries = 1; ; tries++) {
    const before = await readCredits(connection);
    const listed: ListedReceipt[] = [];
    const totals: Record<string, number> = {};
    // The gateway's day may be one ahead of ours.
    const last = (await gatewayTime(connection)) + DAY_MS;
    for (let dayMs = last; utcDay(dayMs) >= FIRST_DAY; dayMs -= 366 * DAY_MS) {
      const days = { from: utcDay(dayMs - 365 * DAY_MS), to: utcDay(dayMs) };
      for await (const receipt of receipts(connection, days)) listed.push(receipt);
      for (const { date, usage_nano_usd: spent } of await readActivity(connection, { ...days, groupBy: ["day"] })) {
        totals[date ?? ""] = spent;
      }
    }
    const credits = await readCredits(connection);
    if (credits.total_usage_nano_usd === before.total_usage_nano_usd || tries === 5) return { credits, listed, totals };
  }
}

/** No gateway of this kind is older. */
const FIRST_DAY = "2026-01-01";

/** The prices that uses and receipts name. */
async function readPrices(
  connection: Connection,
  uses: readonly StatementUse[],
  listed: readonly ListedReceipt[],
): Promise<Evidence["said"]["prices"]> {
  const charged = [...uses, ...listed.filter(({ charge_nano_usd: charge }) => charge > 0)];
  const prices: Record<string, string | null> = {};
  for (const id of new Set(charged.flatMap(({ price_snapshot: id }) => id ?? []))) {
    prices[id] = await requestText(connection, `/api/v1/prices/${encodeURIComponent(id)}`).catch(nullIfUnknown);
  }
  return prices;
}

/** Null for prices that the gateway no longer has. */
function nullIfUnknown(error: unknown): null {
  if (error instanceof RefusedError && [400, 404].includes(error.status)) return null;
  throw error;
}
