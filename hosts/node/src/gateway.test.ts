import { buildDashboard } from "@inference/dashboard/build/build";
import { testEndpoints } from "@inference/gateway/test/suites/all";
import { DAY_MS } from "@inference/protocol/window";
import { startStack } from "./testing/stack.ts";

await buildDashboard();
testEndpoints((options) => startStack({ ...options, operator: { receiptMs: 30 * DAY_MS } }));
