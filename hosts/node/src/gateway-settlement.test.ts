import { testSettlement } from "@inference/gateway/test/suites/all";
import { DAY_MS } from "@inference/protocol/window";
import { startStack } from "./testing/stack.ts";

testSettlement((options) => startStack({ ...options, operator: { receiptMs: 30 * DAY_MS } }));
