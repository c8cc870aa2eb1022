import type { Books } from "@inference/protocol/books";
import { ChainUnavailable } from "@inference/protocol/chain-reader";
import { limits } from "../config.ts";
import type { Environment } from "../environment.ts";
import { makeSingleFlight } from "../load/single-flight.ts";

/** The contracts' totals, at most a few seconds old. One read of the chain serves all requests. */
export type RecentBooks = {
  /** Null if the chain cannot be read. */
  read(): Promise<Books | null>;
};

export function makeRecentBooks(environment: Environment): RecentBooks {
  const { chain, clock } = environment;
  const once = makeSingleFlight<Books | null>(environment);
  let latest: { books: Books | null; readAt: number } | undefined;

  async function ask(): Promise<Books | null> {
    const books = await chain.books().catch((error: unknown) => {
      if (error instanceof ChainUnavailable) return null;
      throw error;
    });
    latest = { books, readAt: clock.now() };
    return books;
  }

  return {
    async read() {
      const age = clock.now() - (latest?.readAt ?? 0);
      return latest !== undefined && age >= 0 && age < limits.booksMs ? latest.books : once("books", ask);
    },
  };
}
