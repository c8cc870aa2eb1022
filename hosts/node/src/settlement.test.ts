import { testDepartures } from "@inference/gateway/test/settlement/departures";
import { testExactSettlements } from "@inference/gateway/test/settlement/exact-settlements";
import { testFaultySettlements } from "@inference/gateway/test/settlement/faulty-settlements";
import { testOddAnswers } from "@inference/gateway/test/settlement/odd-answers";
import { testOddStreams } from "@inference/gateway/test/settlement/odd-streams";
import { startStack } from "./testing/stack.ts";

/** The settlement matrix, which every host passes. */
testExactSettlements(startStack);
testFaultySettlements(startStack);
testOddAnswers(startStack);
testDepartures(startStack);
testOddStreams(startStack);
