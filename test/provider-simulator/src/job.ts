import type { Bill } from "./billing.ts";
import type { Model } from "./catalogue.ts";
import type { Exchange } from "./exchange.ts";
import type { ChargeLine, Usage } from "./pricing.ts";

/** Work that was accepted and will be billed once, for as many of its units as its end says. */
export interface Job {
  readonly x: Exchange;
  readonly requestId: string;
  /** The model that does the work, and whose price is billed. */
  readonly model: Model;
  /** Units of the whole answer: tokens, images, characters. */
  readonly units: number;
  readonly startedAtMs: number;
  readonly user: string | null;
  lines(units: number): ChargeLine[];
  usage(units: number): Usage | null;
}

/** Bills `units` of the job. A job is billed once. */
export function bill(job: Job, units: number): Bill {
  const { x } = job;
  if (x.record.billedAtto !== null) throw new Error(`request ${x.sequence} was billed twice`);
  const usage = job.usage(units);
  const result = x.sim.ledger.charge({
    timeMs: x.sim.now(),
    requestId: job.requestId,
    model: job.model.id,
    keyId: x.key?.id ?? "",
    user: job.user,
    lines: job.lines(units),
    tokens: usage === null ? null : { prompt: usage.promptTokens, completion: usage.completionTokens },
    executionMs: x.sim.now() - job.startedAtMs,
  });
  if (x.key !== null && result.atto > 0n) x.sim.keys.spent(x.key, result.usdAtto, result.diemAtto);
  x.record.billedAtto = result.atto;
  x.record.usage = usage;
  return result;
}

/** The client went away after `sent` units: the setting says what that costs. */
export function billAborted(job: Job, sent: number): Bill {
  const { abortBilling } = job.x.sim.settings;
  if (abortBilling === "full") return bill(job, Math.max(sent, job.units));
  return bill(job, abortBilling === "partial" ? sent : 0);
}

/** Ends a job whose delivery stopped after `sent` units, whoever stopped it. */
export function billStopped(job: Job, sent: number): Bill {
  return job.x.gone ? billAborted(job, sent) : bill(job, sent);
}
