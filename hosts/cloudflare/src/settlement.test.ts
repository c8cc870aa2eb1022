import { testDepartures } from "@inference/gateway/test/settlement/departures";
import { testExactSettlements } from "@inference/gateway/test/settlement/exact-settlements";
import { testFaultySettlements } from "@inference/gateway/test/settlement/faulty-settlements";
import { testOddAnswers } from "@inference/gateway/test/settlement/odd-answers";
import { testOddStreams } from "@inference/gateway/test/settlement/odd-streams";
import { startEdgeHost } from "./testing/edge-host.ts";

/** The settlement matrix, which every host passes. */
testExactSettlements(startEdgeHost);
testFaultySettlements(startEdgeHost);
testOddAnswers(startEdgeHost);
testDepartures(startEdgeHost);
testOddStreams(startEdgeHost);
