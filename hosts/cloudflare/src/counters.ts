import type { AnalyticsEngineDataset } from "@cloudflare/workers-types";
import type { Log } from "@inference/gateway/environment";

/**
 * A log that also counts in Analytics Engine: one point for a request and one for an alert. A point has the kind and the
 * route or event as blobs 1 and 2, status and code as 3 and 4, the model as 5, and milliseconds and nano-dollars as
 * doubles 1 and 2. deploy/cloudflare/counters.sql reads them.
 *
 * @param keepsAccess Whether the lines of requests are in the log too.
 */
export function countingLog(log: Log, counters: AnalyticsEngineDataset, keepsAccess: boolean): Log {
  return (level, event, fields = {}) => {
    const isAccess = event === "access";
    if (isAccess || level === "alert") {
      const { route = event, status = "", code, model, ms, costNanoUsd } = fields as Record<string, unknown>;
      counters.writeDataPoint({
        indexes: [String(route)],
        blobs: [isAccess ? "request" : "alert", String(route), String(status), String(code ?? ""), String(model ?? "")],
        doubles: [Number(ms ?? 0), Number(costNanoUsd ?? 0)],
      });
    }
    if (!isAccess || keepsAccess) log(level, event, fields);
  };
}
