import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { type Block, inPlace, readBlock } from "./chain-view.ts";
import { type Cursor, createContinuityCheck, type Obstacle } from "./continuity.ts";
import { type Confirmations, type Heads, readHeads } from "./heads.ts";
import { type ChainClient, RpcError } from "./rpc.ts";

/**
 * Reads a chain's final blocks in bounded ranges, each block once, from a cursor that the caller stores. It stores
 * nothing: the caller commits the contents of a range together with the new cursor.
 */
export type EventFollower<R> = {
  /** @throws ChainUnavailable */
  heads(): Promise<Heads>;
  /** Why reading cannot continue from this cursor: the node is behind, or on another fork. */
  obstacle(cursor: Cursor | null, heads: Heads): Promise<Obstacle | undefined>;
  /**
   * The next range, as large as the node returns at once; undefined if all final blocks are read.
   *
   * @throws ChainUnavailable
   */
  next(cursor: Cursor | null, heads: Heads): Promise<R | undefined>;
  /** The blocks above the final one; undefined if there are none. Their events may be reorganized. */
  ahead(heads: Heads): { from: number; to: number } | undefined;
  /** The last range was incomplete: read fewer blocks at a time. */
  narrow(): void;
  /** The last range was complete: read more blocks at a time. */
  widen(): void;
};

export type EventFollowerOptions<R> = {
  client: ChainClient;
  /** The first block without a cursor. */
  startBlock: number;
  confirmations: Confirmations;
  /** Maximum blocks of a range. */
  maxBlocks: number;
  now(): number;
  /** Reads a range. Throws `RpcError` if the node refuses so many blocks. */
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
    ahead({ latest, final }) {
      const from = Math.max(startBlock, final.number + 1);
      return from > latest.number ? undefined : { from, to: latest.number };
    },
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
