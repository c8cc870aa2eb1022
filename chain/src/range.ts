import type { CursorRow } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import type { Block } from "./chain-view.ts";
import type { ChainClient } from "./rpc.ts";
import { readSettlementEvents, type SettlementEvents } from "./settlement-events.ts";
import { readTotals, type Totals } from "./settlement-view.ts";

/** The events of some blocks, and the contract's totals in the last of them. */
export type Range = SettlementEvents & { from: number; end: Block; totals: Totals };

export async function readRange(client: ChainClient, settlement: Address, from: number, end: Block): Promise<Range> {
  const [events, totals] = await Promise.all([
    readSettlementEvents(client, { settlement, from, to: end.number }),
    readTotals(client, settlement, end),
  ]);
  return { from, end, ...events, totals };
}

/** How a range contradicts the books; undefined if it does not. */
export function contradictionOf(cursor: CursorRow | null, { end, activations, batches, totals }: Range) {
  const sum = (before: string | null | undefined, amounts: readonly string[]) =>
    amounts.reduce((total, amount) => total + BigInt(amount), BigInt(before ?? 0));
  const activated = activations.map(({ amountToken }) => amountToken);
  const debited = batches.map(({ amountNanoUsd }) => amountNanoUsd);
  const ours = [
    `${(cursor?.lastActivationId ?? 0) + activations.length} activations, ${sum(cursor?.totalActivated, activated)} in total`,
    `${(cursor?.lastBatchId ?? 0) + batches.length} batches, ${sum(cursor?.totalDebitedNanoUsd, debited)} in total`,
  ].join(", and ");
  const theirs = [
    `${totals?.activations ?? 0} activations, ${totals?.activatedToken ?? 0} in total`,
    `${totals?.batches ?? 0} batches, ${totals?.debitedNanoUsd ?? 0} in total`,
  ].join(", and ");
  if (ours === theirs) return undefined;
  return (
    `at block ${end.number} the contract counts ${theirs}; ` +
    `our books and the events that the node shows come to ${ours}`
  );
}
