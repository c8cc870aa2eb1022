import type { Partition } from "./partition.ts";
import { type Saga, send } from "./saga.ts";

/**
 * Lowers an account's due allowances, whose limits are told by deliveries, or all allowances of one limit. In the
 * second case the limit knows the account's use and holds when this returns, so an emptied limit runs it for each
 * account.
 */
export function* lowerAllowances(
  account: Partition,
  { at, limit = null }: { at: number; limit?: Partition | null },
): Saga<void> {
  const { asks } = yield* send(account, { type: "lower", at, limit });
  if (limit === null) return;
  for (const { limit: asked, command } of asks) yield* send(asked, command);
}
