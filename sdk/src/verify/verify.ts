import type { Connection } from "../connection.ts";
import { pause } from "../pause.ts";
import { collectEvidence } from "./collect.ts";
import type { Evidence } from "./evidence.ts";
import { judge, type Verdict } from "./judge.ts";

/**
 * Checks the account's bill and the books. Name your own nodes and the settlement contract's address in `chains`: what
 * is not named is taken on the gateway's word, and each check says so. The evidence can be kept: `judge` reads it again
 * without a network.
 *
 * Gateway and chains are not read in one moment. What fails is read again, so that only what stays wrong fails.
 */
export async function verify(connection: Connection): Promise<Verdict & { evidence: Evidence }> {
  for (let tries = 1; ; tries++) {
    const evidence = await collectEvidence(connection);
    const verdict = judge(evidence);
    if (verdict.outcome !== "fail" || tries === MAX_TRIES) return { ...verdict, evidence };
    await pause(2 * connection.pollMs);
  }
}

const MAX_TRIES = 3;
