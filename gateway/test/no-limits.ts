import type { OperatorConfig } from "../src/config.ts";

/** An operator who sets no limit, so that a test meets the one it is about. */
export const noLimits: OperatorConfig = {
  accessLog: "1",
  metricsToken: null,
  addressHeader: null,
  accountRequestsPerMinute: null,
  addressRequestsPerMinute: null,
  webhookTargets: "local",
  breaker: null,
  queue: { atOnce: Number.POSITIVE_INFINITY, waiting: Number.POSITIVE_INFINITY, waitMs: 20_000 },
  failures: null,
  receiptMs: 400 * 86_400_000,
};
