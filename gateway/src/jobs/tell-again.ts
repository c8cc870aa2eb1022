import { lowerAllowances } from "@inference/ledger/allowances";
import { accountPartition, type Partition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { isRead } from "@inference/ledger/tables";
import type { Address } from "@inference/protocol/credential";
import type { Environment } from "../environment.ts";

type Ledger = Pick<Environment, "clock" | "ledger">;

/** Deletes what a shared limit allowed. It allows nothing more until all accounts have told it again. */
export async function emptyLimit({ clock, ledger }: Ledger, limit: Partition): Promise<void> {
  const empty = { type: "empty", at: clock.now(), limit: ROWS_AT_ONCE } as const;
  const run = () => ledger.run(() => send(limit, empty), { untilDurable: true });
  while ((await run()).status === "more");
}

/**
 * Has the accounts tell a shared limit again what they used and hold, after it lost that or is an old copy: empties it,
 * goes through the accounts of the chain's list, and lets it allow again after the last. One call does a page.
 *
 * @param after The place of the page: null, or the last call's result. A failed call is made again.
 * @returns Null after the last page.
 * @throws If the list is not whole, because the chain is not read far enough.
 */
export async function tellAgain(
  { clock, ledger }: Ledger,
  { chain, limit, after }: { chain: Partition; limit: Partition; after: string | null },
): Promise<string | null> {
  if (!isRead(await ledger.read(chain, { type: "cursor" }))) {
    throw new Error("The chain is not read far enough: wait until /healthz says that the ledger is ok.");
  }
  if (after === null) await emptyLimit({ clock, ledger }, limit);
  const accounts = await ledger.read(chain, { type: "payers", after: after ?? "", limit: ACCOUNTS_A_PAGE });
  await Promise.all(
    accounts.map((account) =>
      ledger.run(() => lowerAllowances(accountPartition(account as Address), { at: clock.now(), limit }), {
        untilDurable: true,
      }),
    ),
  );
  const last = accounts.at(-1);
  if (accounts.length === ACCOUNTS_A_PAGE && last !== undefined) return last;
  await ledger.run(() => send(limit, { type: "fill" }), { untilDurable: true });
  return null;
}

const ROWS_AT_ONCE = 1_000;
/** A Worker makes at most 1,000 calls for a request: at most three an account here. */
const ACCOUNTS_A_PAGE = 200;
