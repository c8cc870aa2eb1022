import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnalyticsEngineDataPoint } from "@cloudflare/workers-types";
import { countingLog } from "./counters.ts";

test("each request and each alert is one point, and the log has the lines that the operator asked for", () => {
  for (const keepsAccess of [false, true]) {
    const points: (AnalyticsEngineDataPoint | undefined)[] = [];
    const lines: string[] = [];
    const log = countingLog(
      (_, event) => lines.push(event),
      { writeDataPoint: (point) => points.push(point) },
      keepsAccess,
    );
    const request = { request: "r", route: "POST /v1/chat/completions", status: 200, code: null, ms: 7 };
    log("info", "access", { ...request, model: "m", costNanoUsd: 75_000 });
    log("warn", "prices_failed", { error: "e" });
    log("alert", "loss", { lossNanoUsd: 5 });
    assert.deepEqual(points, [
      { indexes: [request.route], blobs: ["request", request.route, "200", "", "m"], doubles: [7, 75_000] },
      { indexes: ["loss"], blobs: ["alert", "loss", "", "", ""], doubles: [0, 0] },
    ]);
    assert.deepEqual(lines, [...(keepsAccess ? ["access"] : []), "prices_failed", "loss"]);
  }
});
