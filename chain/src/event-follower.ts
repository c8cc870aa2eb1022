import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { type Block, inPlace, readBlock } from "./chain-view.ts";
import { type Cursor, createContinuityCheck, type Obstacle } from "./continuity.ts";
import { type Confirmations, type Heads, readHeads } from "./heads.ts";
import { type ChainClient, RpcError } from "./rpc.ts";

/**
 * Reads a chain's final blocks in bounded ranges, each block once, from a cursor that the caller stores. It keeps
 * nothing: the caller commits what a range held together with the new cursor.
 */
export type EventFollower<R> = {
  /** @throws ChainUnavailable */
  heads(): Promise<Heads>;
  /** Why the chain cannot be read on from this cursor: a node that is behind, or another fork. */
  obstacle(cursor: Cursor | null, heads: Heads): Promise<Obstacle | undefined>;
  /**
   * The next range, as much as the node returns at once; undefined when all final blocks are read.
   *
   * @throws ChainUnavailable
   */
  next(cursor: Cursor | null, heads: Heads): Promise<R | undefined>;
  /** What was read cannot be complete: read fewer blocks at a time. */
  narrow(): void;
  /** What was read was good: read more blocks at a time. */
  widen(): void;
};

export type EventFollowerOptions<R> = {
  client: ChainClient;
  /** Where reading starts without a cursor. */
  startBlock: number;
  confirmations: Confirmations;
  /** How many blocks a range has at most. */
  maxBlocks: number;
  now(): number;
  /** Reads a range. It throws `RpcError` when the node refuses so many blocks. */
  read(from: number, end: Block): Promise<R>;
};

export function createEventFollower<R>(options: EventFollowerOptions<R>): EventFollower<R> {
  const { client, startBlock, confirmations, maxBlocks, read } = options;
  const continuity = createContinuityCheck(options);
  let blocks = maxBlocks;

  async function readSome(from: number, final: Block): Promise<R> {
    const to = Math.min(from + blocks - 1, final.number);
    const end = to === final.number ? final : await readBlock(client, to);
    if (end === null) throw new ChainUnavailable(`the node does not know block ${to}`);
    return inPlace(client, end, read(from, end));
  }

  function narrow(): void {
    blocks = Math.max(1, Math.floor(blocks / 2));
  }

  return {
    narrow,
    widen() {
      blocks = Math.min(maxBlocks, blocks * 2);
    },
    heads: () => readHeads(client, confirmations),
    obstacle: async (cursor, heads) => (cursor === null ? undefined : continuity(cursor, heads)),
    async next(cursor, { final }) {
      const from = cursor === null ? startBlock : cursor.block + 1;
      if (from > final.number) return undefined;
      blocks = Math.min(blocks, final.number - from + 1);
      for (;;) {
        try {
          return await readSome(from, final);
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
