import type { Connection } from "../connection.ts";
import { pause } from "../pause.ts";
import { collectEvidence } from "./collect.ts";
import type { Evidence, RequestLog } from "./evidence.ts";
import { type JudgeOptions, judge, type Verdict } from "./judge.ts";

export type VerifyOptions = Pick<JudgeOptions, "keccak"> & {
  /** The signed receipts that you kept. Without them nothing proves that you made the requests. */
  log?: RequestLog | undefined;
};

/**
 * Checks the account's bill and the token's reserves. Name your own nodes and the settlement contract's address in
 * `chains`; otherwise the gateway's are used, and each check says so. `judge` reads stored evidence again without a
 * network. `notProven` names the facts that no check proves.
 *
 * Gateway and chains are not read in one moment, so evidence that fails is read again.
 */
export async function verify(
  connection: Connection,
  { log, keccak }: VerifyOptions = {},
): Promise<Verdict & { evidence: Evidence }> {
  for (let tries = 1; ; tries++) {
    const evidence = await collectEvidence(connection, log ?? null);
    const verdict = await judge(evidence, { keccak });
    if (verdict.outcome !== "fail" || tries === MAX_TRIES) return { ...verdict, evidence };
    await pause(2 * connection.pollMs);
  }
}

const MAX_TRIES = 3;
