import { ceilingPartition, chainPartition } from "@inference/ledger/partition";
import type { ReconciliationRow } from "@inference/ledger/tables";
import type { SecondaryBooks } from "@inference/protocol/dollars";
import { NANO_USD_PER_TOKEN_UNIT } from "@inference/protocol/money";
import { MOST_NAMED, type Reconciliation } from "@inference/protocol/reconciliation";
import { DAY_MS } from "@inference/protocol/window";
import { statusAnswer } from "@inference/protocol/wire/answers";
import manifest from "../../package.json" with { type: "json" };
import { json, ok } from "../docs/operation.ts";
import type { Gateway } from "../gateway.ts";
import { amounts } from "../http/money.ts";
import { isoOrNull } from "../http/time.ts";
import { operatorObject } from "../operator/service-settings.ts";
import { endpoint } from "./endpoint.ts";
import { ageS } from "./prices.ts";
import { lastOf, recentDays } from "./reconciliations.ts";

export const getStatus = endpoint({
  path: "/api/v1/status",
  id: "getStatus",
  group: "Operation",
  title: "The day's ceiling, the chains, the token's books, the prices in force",
  about:
    "The books are the contracts' own: the dollars behind the token, and what they are owed to. " +
    "While the chain contradicts the gateway's settings or books, no contract is named.",
  answers: [ok("How the gateway stands.", json("StatusAnswer", statusAnswer))],
  errors: ["ledger_unavailable"],
  async handle(context) {
    const { gateway, at } = context.var;
    const ceiling = await gateway.environment.ledger.read(ceilingPartition, { type: "ceiling", at });
    const prices = gateway.prices.known() ?? null;
    const days = await recentDays(gateway);
    return context.json({
      data: {
        version: manifest.version,
        base_url: gateway.config.baseUrl,
        operator: operatorObject(gateway.config.operator.service),
        time: new Date(at).toISOString(),
        ceiling: {
          ...amounts({
            limit: ceiling.limitNanoUsd ?? 0,
            settled: ceiling.settledNanoUsd,
            held: ceiling.heldNanoUsd,
            left: ceiling.availableNanoUsd ?? 0,
          }),
          resets_at: isoOrNull(ceiling.resetsAt),
        },
        primary_chain_id: gateway.config.chainIds[0] ?? null,
        chain_ids: gateway.config.chainIds,
        layerzero_eids: Object.fromEntries(
          gateway.config.chains.flatMap(({ chainId, eid }) => (eid === null ? [] : [[chainId, eid]])),
        ),
        contracts: contracts(gateway),
        following: following(gateway),
        settler: settler(gateway),
        settlement: await settlement(gateway, days),
        books: await books(gateway),
        prices: prices && { snapshot: prices.id, age_s: ageS(prices, at), models: prices.models.size },
        provider_bill: providerBill(gateway, days),
        receipt_retention_days: Math.floor(gateway.config.operator.receiptMs / DAY_MS),
      },
    });
  },
});

/** The contracts' books, so that anyone can check that all claims are backed. */
async function books(gateway: Gateway) {
  const read = await gateway.books.read();
  if (read === null) return null;
  const { block, at, backingNanoUsd, supplyNanoUsd, creditNanoUsd, owedNanoUsd, linesNanoUsd } = read;
  const isBacked = backingNanoUsd === supplyNanoUsd + creditNanoUsd + owedNanoUsd + linesNanoUsd;
  const chains = secondaryBooks(gateway);
  return {
    block,
    at: new Date(at).toISOString(),
    ...amounts({
      backing: backingNanoUsd,
      supply: supplyNanoUsd,
      credit: creditNanoUsd,
      owed: owedNanoUsd,
      lines: linesNanoUsd,
    }),
    chains,
    adds_up: everywhere([isBacked, ...chains.map((chain) => chain.adds_up)]),
  };
}

/** False if one does not add up, null if one is not known. */
function everywhere(each: readonly (boolean | null)[]): boolean | null {
  if (each.includes(false)) return false;
  return each.includes(null) ? null : true;
}

function secondaryBooks({ environment, config }: Gateway) {
  const view = environment.dollars?.() ?? null;
  const secondaries = config.chains.filter(({ role }) => role === "secondary");
  return secondaries.map(({ chainId }) =>
    secondaryObject(
      chainId,
      view?.chains.find((each) => each.chainId === chainId),
    ),
  );
}

function secondaryObject(chainId: number, books: SecondaryBooks | undefined) {
  const nanoUsd = (name: keyof SecondaryBooks & `${string}Token`): bigint | null =>
    books === undefined ? null : books[name] * NANO_USD_PER_TOKEN_UNIT;
  return {
    chain_id: chainId,
    known: books !== undefined,
    block: books?.block ?? null,
    at: isoOrNull(books?.at ?? null),
    ...amounts({
      supply: nanoUsd("supplyToken"),
      line: nanoUsd("lineToken"),
      gifted: nanoUsd("giftedToken"),
      outbox: nanoUsd("outboxToken"),
      flushed: nanoUsd("flushedToken"),
      booked: nanoUsd("bookedToken"),
      in_flight: nanoUsd("inFlightToken"),
      waiting: nanoUsd("waitingToken"),
    }),
    outbox_since: isoOrNull(books?.outboxSince ?? null),
    oldest_message_at: isoOrNull(books?.oldestMessageAt ?? null),
    adds_up: books?.addsUp ?? null,
  };
}

/**
 * Empty while the chain contradicts the settings or the books: nobody should pay until the operator has resolved it.
 */
function contracts({ config, environment }: Gateway) {
  if (environment.chain.following().state === "halted") return {};
  return Object.fromEntries(config.chains.map(({ chainId, contracts }) => [chainId, contracts]));
}

/** Null: nothing is posted on chain. */
function settler({ environment }: Gateway) {
  const status = environment.settler?.();
  if (status === undefined) return null;
  const { state, reason, address, lastPollAt } = status;
  const at = isoOrNull(lastPollAt);
  return { state, reason: reason ?? null, address, last_poll_at: at };
}

/** The chain's debits, and the charges that wait for one. Null: no block was read, or this gateway posts nothing. */
async function settlement({ config, environment }: Gateway, days: readonly ReconciliationRow[]) {
  const status = environment.settler?.();
  const cursor = await environment.ledger.read(chainPartition(config.settlement.chainId), { type: "cursor" });
  if (cursor === null || status === undefined) return null;
  const { accounts, amountNanoUsd, oldestAt } = status.waiting;
  return {
    ...amounts({ debited: BigInt(cursor.totalDebitedNanoUsd) }),
    chunks_in_flight: status.inFlight,
    ...amounts({ waiting: amountNanoUsd }),
    waiting_accounts: accounts,
    oldest_at: isoOrNull(oldestAt),
    ...foreign(days),
  };
}

/** The debits of the last days that paid no statement of this ledger, and their accounts. */
function foreign(rows: readonly ReconciliationRow[]) {
  const days = rows.map(({ detail }) => JSON.parse(detail) as Reconciliation);
  const named = new Map<string, number>();
  for (const [account, amount] of days.flatMap(({ foreignOf = {} }) => Object.entries(foreignOf))) {
    named.set(account, (named.get(account) ?? 0) + amount);
  }
  const largest = [...named].sort(([, one], [, other]) => other - one).slice(0, MOST_NAMED);
  return {
    ...amounts({ foreign: days.reduce((sum, { foreignNanoUsd }) => sum + foreignNanoUsd, 0) }),
    foreign_accounts: largest.map(([account, amount]) => ({ account, ...amounts({ foreign: amount }) })),
  };
}

/** The last day that was reconciled. Null: the provider's record is not read, or no recent day is reconciled. */
function providerBill({ config }: Gateway, days: readonly ReconciliationRow[]) {
  if (config.upstream.billing === null) return null;
  const day = lastOf(days);
  if (day === undefined) return null;
  const { listedNanoUsd = null, providerNanoUsd = null } = JSON.parse(day.detail) as Reconciliation;
  return { day: day.id, ...amounts({ listed: listedNanoUsd, provider: providerNanoUsd }) };
}

/** How far activations have been read from the primary chain. */
function following({ environment }: Gateway) {
  const { state, block, lagBlocks } = environment.chain.following();
  return { state, block, lag_blocks: lagBlocks };
}
