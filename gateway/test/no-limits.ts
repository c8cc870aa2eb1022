import type { OperatorConfig } from "../src/config.ts";

/** An operator who sets no limit, so that a test meets the one it is about. */
export const noLimits: OperatorConfig = {
  metricsToken: null,
  addressHeader: null,
  accountRequestsPerMinute: null,
  addressRequestsPerMinute: null,
  breaker: null,
  queue: null,
  receiptMs: 400 * 86_400_000,
};
