import { lowerAllowances } from "@inference/ledger/allowances";
import type { Partition } from "@inference/ledger/partition";
import type { Environment } from "../environment.ts";

const ACCOUNTS_A_PAGE = 256;

/** Lowers the allowances that are due. */
export async function lowerDue(
  { environment: { clock, ledger } }: { environment: Pick<Environment, "clock" | "ledger"> },
  stopped: AbortSignal,
): Promise<void> {
  for (let after: Partition | null = null; !stopped.aborted; ) {
    const at = clock.now();
    const page = await ledger.due("allowance", at, { after, limit: ACCOUNTS_A_PAGE });
    for (const account of page) await ledger.run(() => lowerAllowances(account, { at }));
    if (page.length < ACCOUNTS_A_PAGE) return;
    after = page.at(-1) ?? null;
  }
}
