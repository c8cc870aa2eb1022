import * as z from "zod";
import type { OperatorConfig } from "../src/config.ts";
import { serviceSettings } from "../src/operator/service-settings.ts";
import { shapeOf, valuesOf } from "../src/setting-fields.ts";

/** An operator who sets no limit, so that a test meets the one it is about. */
export const noLimits: OperatorConfig = {
  accessLog: "1",
  metricsToken: null,
  addressHeader: null,
  accountRequestsPerMinute: null,
  addressRequestsPerMinute: null,
  webhookTargets: "local",
  service: valuesOf(serviceSettings, z.object(shapeOf(serviceSettings)).parse({})),
  breaker: null,
  queue: { atOnce: Number.POSITIVE_INFINITY, waiting: Number.POSITIVE_INFINITY, waitMs: 20_000 },
  failures: null,
  receiptMs: 400 * 86_400_000,
};
