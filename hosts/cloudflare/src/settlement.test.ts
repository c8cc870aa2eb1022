import { testDepartures } from "@inference/gateway/inference/testing/departures";
import { testExactSettlements } from "@inference/gateway/inference/testing/exact-settlements";
import { testFaultySettlements } from "@inference/gateway/inference/testing/faulty-settlements";
import { testOddAnswers } from "@inference/gateway/inference/testing/odd-answers";
import { testOddStreams } from "@inference/gateway/inference/testing/odd-streams";
import { startEdgeHost } from "./testing/edge-host.ts";

/** The settlement matrix, which every host passes. */
testExactSettlements(startEdgeHost);
testFaultySettlements(startEdgeHost);
testOddAnswers(startEdgeHost);
testDepartures(startEdgeHost);
testOddStreams(startEdgeHost);
