import type { Activation } from "@inference/ledger/commands";
import type { CursorRow } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import type { Block } from "./chain-view.ts";
import type { ChainClient } from "./rpc.ts";
import { readActivations, readTotals, type Totals } from "./settlement-view.ts";

/** The activations of some blocks, and the contract's totals in the last of them. */
export type Range = { from: number; end: Block; activations: Activation[]; totals: Totals };

export async function readRange(client: ChainClient, settlement: Address, from: number, end: Block): Promise<Range> {
  const [activations, totals] = await Promise.all([
    readActivations(client, { settlement, from, to: end.number }),
    readTotals(client, settlement, end),
  ]);
  return { from, end, activations, totals };
}

/** How a range contradicts the books; undefined if it does not. */
export function contradictionOf(cursor: CursorRow | null, { end, activations, totals }: Range): string | undefined {
  const count = BigInt((cursor?.lastActivationId ?? 0) + activations.length);
  const sum = activations.reduce(
    (total, { amountToken }) => total + BigInt(amountToken),
    BigInt(cursor?.totalActivated ?? 0),
  );
  if (count === (totals?.activations ?? 0n) && sum === (totals?.activatedToken ?? 0n)) return undefined;
  return (
    `at block ${end.number} the contract counts ${totals?.activations ?? 0} activations, ${totals?.activatedToken ?? 0} ` +
    `in total; our books and the events that the node shows come to ${count}, ${sum}`
  );
}
