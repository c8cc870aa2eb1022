import type { AnalyticsEngineDataset } from "@cloudflare/workers-types";
import type { Log } from "@inference/gateway/environment";

/**
 * A log that also counts in Analytics Engine: one point for a request and one for an alert. Blobs 1 to 5 are the kind,
 * the route or event, the status, the code and the model. Doubles 1 and 2 are milliseconds and nano-dollars.
 * deploy/cloudflare/counters.sql reads them.
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
