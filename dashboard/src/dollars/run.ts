import { activateFrom } from "@inference/sdk/activate";
import type { Connection } from "@inference/sdk/connection";
import { buy } from "@inference/sdk/market";
import { mint } from "@inference/sdk/mint";
import type { Progress } from "@inference/sdk/progress";
import { resume } from "@inference/sdk/resume";
import { findAsked } from "@inference/sdk/wallet-transaction";
import { advanced, type Plan } from "./plan.ts";

export type RunOptions = {
  /** Keeps the plan, before anything else happens. */
  keep(plan: Plan): void;
  /** Whether the wallet may be asked now. A page that was loaded again asks only when its reader wants to go on. */
  mayAsk: boolean;
  signal: AbortSignal;
};

/** Goes on with a plan as far as it can: to its end, or to where the wallet would have to be asked. */
export async function runPlan(connection: Connection, given: Plan, options: RunOptions): Promise<Plan> {
  const { keep, mayAsk, signal } = options;
  let plan = given;
  const set = (next: Plan): void => {
    plan = next;
    keep(next);
  };
  const onProgress = (progress: Progress): void => set(advanced(plan, progress));
  const step = { amountToken: BigInt(plan.amountToken), chainId: plan.chainId, onProgress, signal };
  if (plan.kept === null && mayAsk) set(await withFound(connection, plan));
  if (plan.kept !== null) await resume(connection, plan.kept, { onProgress, signal });
  if (!plan.isMinted) {
    if (!mayAsk) return plan;
    const payment = { ...step, ...(plan.pay === "approve" ? { pay: "approve" as const } : {}) };
    const { maxCostToken = null } = plan;
    if (maxCostToken === null) await mint(connection, payment);
    else await buy(connection, { ...payment, maxCostToken: BigInt(maxCostToken) });
  }
  if (!plan.isCredited) {
    if (!mayAsk) return plan;
    await activateFrom(connection, step);
  }
  return plan;
}

/** The plan with what was given up and has been sent since: a request may have stayed open in the wallet. */
async function withFound(connection: Connection, plan: Plan): Promise<Plan> {
  const { unsent = [] } = plan;
  for (const asked of unsent) {
    const hash = await findAsked(connection, asked);
    if (hash !== null) return { ...plan, kept: { ...asked, hash }, unsent: unsent.filter((each) => each !== asked) };
  }
  return plan;
}
