import type { Activation } from "@inference/ledger/commands";
import type { CursorRow } from "@inference/ledger/tables";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import type { Address } from "@inference/protocol/credential";
import { type Block, readBlock } from "./chain-view.ts";
import { type ChainClient, RpcError } from "./rpc.ts";
import { readActivations, readTotals, type Totals } from "./settlement-view.ts";

/** All that was activated in some blocks, and what the contract says of it at the last of them. */
export type Range = { from: number; end: Block; activations: Activation[]; totals: Totals };

export async function readRange(client: ChainClient, settlement: Address, from: number, end: Block): Promise<Range> {
  const [activations, totals] = await Promise.all([
    readActivations(client, { settlement, from, to: end.number }),
    readTotals(client, settlement, end),
  ]);
  // The events were asked for by number: they are those of this block's chain only if it stayed in its place.
  const again = await readBlock(client, end.number);
  if (again?.hash !== end.hash) throw new ChainUnavailable(`block ${end.number} changed while it was read`);
  return { from, end, activations, totals };
}

export type RangeReader = {
  /** The range's first block up to at most `upTo`, as much of it as the node will give at once. */
  read(from: number, upTo: Block): Promise<Range>;
  /** What was read cannot be all: take less at a time. */
  narrow(): void;
  /** What was read was good: take more at a time. */
  widen(): void;
};

/** Halves the range when a node refuses it or answers with too much, and doubles it again while all is well. */
export function createRangeReader(options: {
  client: ChainClient;
  settlement: Address;
  maxBlocks: number;
}): RangeReader {
  const { client, settlement, maxBlocks } = options;
  let blocks = maxBlocks;

  async function readSome(from: number, upTo: Block): Promise<Range> {
    const to = Math.min(from + blocks - 1, upTo.number);
    const end = to === upTo.number ? upTo : await readBlock(client, to);
    if (end === null) throw new ChainUnavailable(`the node does not know block ${to}`);
    return readRange(client, settlement, from, end);
  }

  function narrow(): void {
    blocks = Math.max(1, Math.floor(blocks / 2));
  }

  return {
    narrow,
    widen() {
      blocks = Math.min(maxBlocks, blocks * 2);
    },
    async read(from, upTo) {
      blocks = Math.min(blocks, Math.max(1, upTo.number - from + 1));
      for (;;) {
        try {
          return await readSome(from, upTo);
        } catch (error) {
          const wasOne = blocks === 1;
          narrow();
          if (error instanceof RpcError && !wasOne) continue;
          throw error instanceof RpcError ? new ChainUnavailable(error.message, { cause: error }) : error;
        }
      }
    },
  };
}

/** Where a range and our books cannot both be right; undefined if they agree. */
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
