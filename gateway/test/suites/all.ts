import type { StartHost } from "../host.ts";
import { testDepartures } from "../settlement/departures.ts";
import { testExactSettlements } from "../settlement/exact-settlements.ts";
import { testFaultySettlements } from "../settlement/faulty-settlements.ts";
import { testOddAnswers } from "../settlement/odd-answers.ts";
import { testOddContent } from "../settlement/odd-content.ts";
import { testOddStreams } from "../settlement/odd-streams.ts";
import { testOtherApis } from "../settlement/other-apis.ts";
import { testActivity } from "./activity.ts";
import { testBadInput } from "./bad-input.ts";
import { testCatalogueReads } from "./catalogue-reads.ts";
import { testClientBodies } from "./client-bodies.ts";
import { testCodex } from "./codex.ts";
import { testDashboard } from "./dashboard.ts";
import { testDocuments } from "./documents.ts";
import { testEncodedBodies } from "./encoded-bodies.ts";
import { testForgetting } from "./forgetting.ts";
import { testFreeModel } from "./free-model.ts";
import { testIdempotency } from "./idempotency.ts";
import { testKeyTerms } from "./key-terms.ts";
import { testLargeBodies } from "./large-bodies.ts";
import { testCeiling, testLimits } from "./limits.ts";
import { testMcp } from "./mcp.ts";
import { testMedia } from "./media.ts";
import { testMessages } from "./messages.ts";
import { testOtherClients } from "./other-clients.ts";
import { testProviderFailures } from "./provider-failures.ts";
import { testRefusedKey } from "./refused-key.ts";
import { testResponses } from "./responses.ts";
import { testSecrets } from "./secrets.ts";
import { testTime } from "./time.ts";
import { testWebhooks } from "./webhooks.ts";

/** The behaviour in which hosts can differ: clients that leave, large bodies, concurrency and time. */
export function testHostBehaviour(start: StartHost): void {
  testDepartures(start);
  testLargeBodies(start);
  testLimits(start);
  testKeyTerms(start);
  testMedia(start);
  testWebhooks(start);
  testTime(start);
}

/** The suites that every host passes. Each behaviour of the gateway is written once. */
export function testGateway(start: StartHost): void {
  testSettlement(start);
  testClients(start);
  testEndpoints(start);
}

/** The charge of each kind of answer. */
export function testSettlement(start: StartHost): void {
  testExactSettlements(start);
  testFaultySettlements(start);
  testOddAnswers(start);
  testOddStreams(start);
  testOddContent(start);
  testDepartures(start);
  testOtherApis(start);
  testMedia(start);
}

/** The requests and answers of each API's clients. */
export function testClients(start: StartHost): void {
  testOtherClients(start);
  testClientBodies(start);
  testCodex(start);
  testMcp(start);
  testResponses(start);
  testMessages(start);
}

/** The rest. Those that turn the clock come last. */
export function testEndpoints(start: StartHost): void {
  testLargeBodies(start);
  testSecrets(start);
  testDocuments(start);
  testDashboard(start);
  testBadInput(start);
  testEncodedBodies(start);
  testLimits(start);
  testCeiling(start);
  testKeyTerms(start);
  testFreeModel(start);
  testRefusedKey(start);
  testProviderFailures(start);
  testCatalogueReads(start);
  testIdempotency(start);
  testActivity(start);
  testWebhooks(start);
  testForgetting(start);
  testTime(start);
}
