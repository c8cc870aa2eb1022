import type { CursorRow } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import type { Keccak } from "@inference/protocol/merkle-tree";
import type { Block } from "./chain-view.ts";
import type { ChainClient } from "./rpc.ts";
import { readSettlementEvents, type SettlementEvents } from "./settlement-events.ts";
import { readTotals, type Totals } from "./settlement-view.ts";

/** The events of some blocks, and the contract's totals in the last of them. */
export type Range = SettlementEvents & { from: number; end: Block; totals: Totals };

export type RangeQuery = { settlement: Address; from: number; end: Block; keccak?: Keccak | undefined };

/** @throws RpcError if the node refuses so many blocks. */
export async function readRange(client: ChainClient, { end, ...query }: RangeQuery): Promise<Range> {
  const { settlement, from } = query;
  const [events, totals] = await Promise.all([
    readSettlementEvents(client, { ...query, to: end.number }),
    readTotals(client, settlement, end),
  ]);
  return { from, end, ...events, totals };
}

/** How a range contradicts the books; undefined if it does not. */
export function contradictionOf(cursor: CursorRow, { end, activations, chunks, totals }: Range) {
  const sum = (before: string, amounts: readonly (string | number)[]) =>
    amounts.reduce((total, amount) => total + BigInt(amount), BigInt(before));
  const activated = activations.map(({ amountToken }) => amountToken);
  const debited = chunks.map(({ amountNanoUsd }) => amountNanoUsd);
  const ours = told(
    cursor.lastActivationId + activations.length,
    sum(cursor.totalActivated, activated),
    sum(cursor.totalDebitedNanoUsd, debited),
  );
  const theirs = told(totals?.activations ?? 0, totals?.activatedToken ?? 0, totals?.debitedNanoUsd ?? 0);
  if (ours === theirs) return undefined;
  return (
    `at block ${end.number} the contract counts ${theirs}; ` +
    `our books and the events that the node shows come to ${ours}`
  );
}

function told(activations: number | bigint, activatedToken: number | bigint, debitedNanoUsd: number | bigint): string {
  return `${activations} activations of ${activatedToken} units, and debits of ${debitedNanoUsd} nano-dollars`;
}
