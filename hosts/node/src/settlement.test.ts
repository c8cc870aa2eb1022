import { testDepartures } from "@inference/gateway/inference/testing/departures";
import { testExactSettlements } from "@inference/gateway/inference/testing/exact-settlements";
import { testFaultySettlements } from "@inference/gateway/inference/testing/faulty-settlements";
import type { StartHost } from "@inference/gateway/inference/testing/host-under-test";
import { startStack } from "./testing/stack.ts";

/** The settlement matrix, which every host passes. An answer whose client left is read on as long as at the edge. */
const startHost: StartHost = (options) => startStack({ ...options, drainMs: 25_000 });

testExactSettlements(startHost);
testFaultySettlements(startHost);
testDepartures(startHost);
