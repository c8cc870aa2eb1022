import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { inPlace, readBlock } from "./chain-view.ts";
import { type Confirmations, readHeads } from "./heads.ts";
import { type Range, type RangeQuery, readRange } from "./range.ts";
import { type ChainClient, RpcError } from "./rpc.ts";

/**
 * How a second node contradicts a range; undefined if it agrees. Nothing else detects a node whose events and state are
 * false and consistent.
 *
 * @throws ChainUnavailable also while the range has not these confirmations on the second node.
 */
export async function disagreementOf(
  secondNode: ChainClient,
  query: RangeQuery & { confirmations: Confirmations },
  range: Range,
): Promise<string | undefined> {
  const { final } = await readHeads(secondNode, query.confirmations);
  const { number, hash } = range.end;
  if (final.number < number) throw new ChainUnavailable(`block ${number} is not final on the second node`);
  const end = await readBlock(secondNode, number);
  if (end?.hash !== hash) return `block ${number} is ${hash} on one node and ${end?.hash} on the other`;
  const other = await inPlace(secondNode, end, readRange(secondNode, { ...query, end })).catch((error: unknown) => {
    throw error instanceof RpcError ? new ChainUnavailable(error.message, { cause: error }) : error;
  });
  if (textOf(other) === textOf(range)) return undefined;
  return `the two nodes have different events or totals in the blocks from ${range.from} to ${number}`;
}

function textOf(range: Range): string {
  return JSON.stringify(range, (_, value: unknown) => (typeof value === "bigint" ? value.toString() : value));
}
