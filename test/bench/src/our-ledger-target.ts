import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { openBooks } from "./books.ts";
import type { LedgerTarget } from "./ledger-target.ts";

/** The ledger as the Node host keeps it, without the gateway in front: every rule, every row, one SQLite file. */
export const ourLedger: LedgerTarget = {
  name: "our ledger",
  ours: true,
  async open({ directory, accounts, pastUses, synchronous }) {
    const file = join(directory, "books.sqlite");
    const books = await openBooks({ file, synchronous, secret: randomBytes(32), accounts, pastUses });
    return {
      async pair(account) {
        const { settle } = await books.reserve(account);
        await settle();
      },
      close: books.close,
    };
  },
};
