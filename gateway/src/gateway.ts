import { makeOpenOffers } from "./agents/open-offers.ts";
import { makeAgentOwners } from "./auth/agent-owners.ts";
import { makeCredentials } from "./auth/credentials.ts";
import { makeReceiptKey } from "./auth/receipt-key.ts";
import { makeSeenCredentials } from "./auth/seen-credentials.ts";
import { makePriceList } from "./catalogue/price-list.ts";
import { type GatewayConfig, limits } from "./config.ts";
import type { Environment } from "./environment.ts";
import { makeReasoningSeal } from "./inference/answer/reasoning-seal.ts";
import { makeAnswerMemory } from "./load/answer-memory.ts";
import { makeBodyMemory } from "./load/body-memory.ts";
import { makeBreaker } from "./load/breaker.ts";
import { makeFailureBudget } from "./load/failure-budget.ts";
import { makeFairQueue } from "./load/fair-queue.ts";
import { makeKeptBytes } from "./load/kept-bytes.ts";
import { makeLimiter } from "./load/limiter.ts";
import { makeLongAudio } from "./load/long-audio.ts";
import { makePace } from "./load/pace.ts";
import { makeSemaphore } from "./load/semaphore.ts";
import { makeTurns } from "./load/turns.ts";
import { makeAccessLog } from "./operator/access-log.ts";
import { makeMetrics } from "./operator/metrics.ts";
import { makeProviderCosts } from "./operator/provider-costs.ts";
import { makeRecentBooks } from "./operator/recent-books.ts";
import { makeRelayClient } from "./top-up/relay-client.ts";
import { makeCatalogueReads } from "./upstream/catalogue-reads.ts";
import { makeKeyCheck } from "./upstream/key-check.ts";
import { makeKeyRecords } from "./upstream/key-records.ts";
import { makeProvider } from "./upstream/provider.ts";
import { makeSealer } from "./upstream/sealer.ts";
import { makeSecretFilters } from "./upstream/secret-writings.ts";
import { makeWebhookSender, TESTS, TESTS_PER_MINUTE } from "./webhooks/sender.ts";

/** The parts of a running gateway, made once. Routes and jobs are functions of it. */
export type Gateway = ReturnType<typeof makeGateway>;

export function makeGateway(config: GatewayConfig, given: Environment) {
  const metrics = makeMetrics();
  const environment: Environment = {
    ...given,
    log(level, event, fields) {
      if (level !== "info") metrics.logged(level, event);
      given.log(level, event, fields);
    },
  };
  const { operator, upstream } = config;
  const live = new Set<string>();
  const { clock, timers } = environment;
  const provider = makeProvider(upstream, environment.upstream);
  const credentials = makeCredentials(config.secret, environment.random, config.previousSecret);
  const sealer = makeSealer(config, environment.random);
  const chainReads = makeSemaphore(limits.chainReads, "readings of the chain");
  const keyRecords = makeKeyRecords(config, environment, { credentials, chainReads, sealer });
  return {
    config,
    environment,
    credentials,
    agentOwners: makeAgentOwners(environment, chainReads),
    keyRecords,
    /** Limits readings of owners, capacities and computers. */
    chainReads,
    /** The open offers of agents. */
    openOffers: makeOpenOffers(config, environment, { keyRecords, chainReads }),
    /** Encrypts what the key-value store must not reveal. */
    sealer,
    /** Seals the reasoning of answers, for clients to send back. */
    reasoningSeal: makeReasoningSeal(config, environment.random),
    /** Limits signature checks by contracts. */
    contractSignatures: makeSemaphore(limits.contractSignatures, "checks of contract wallets' signatures"),
    agentSignIns: makeSemaphore(limits.agentSignIns, "sign-ins for agents"),
    provider,
    keyCheck: makeKeyCheck(config.upstream.apiKey, environment, provider),
    /** Finds and removes our keys at the provider in what it writes. */
    secrets: makeSecretFilters([upstream.apiKey, upstream.recordKey, upstream.adminKey ?? ""]),
    prices: makePriceList(config, environment, provider),
    catalogueReads: makeCatalogueReads(environment, provider),
    metrics,
    /** Null: the operator did not ask for it. */
    accessLog: operator.accessLog === "1" ? makeAccessLog(environment, live) : null,
    providerCosts: makeProviderCosts(environment),
    books: makeRecentBooks(environment),
    receiptKey: makeReceiptKey(config.secret),
    seen: makeSeenCredentials(),
    bodyMemory: makeBodyMemory({ all: config.bodyMemoryBytes, small: limits.smallBodyBytes }),
    /** Spreads work of milliseconds over turns of the event loop. */
    turns: makeTurns(timers),
    /** Turns for free work: reads and sign-ins. Free work waits for free work, and paid requests never wait for it. */
    freeWork: makeTurns(timers, { everyMs: limits.freeWorkEveryMs }),
    answerMemory: makeAnswerMemory(config.answerMemoryBytes),
    /** Limits the answers that are kept for requests with an `Idempotency-Key`. */
    keptBytes: makeKeptBytes({ each: limits.keptBytesEach, all: limits.keptBytes }),
    breaker: makeBreaker(operator.breaker),
    longAudio: makeLongAudio(config, environment),
    queue: makeFairQueue({ ...operator.queue, waitingEach: limits.queueWaitingEach }, timers, {
      failures: makeFailureBudget(operator.failures, clock),
      pace: makePace(clock),
    }),
    /** Requests a minute by account or identity and by client address, and tests of webhooks by account. */
    rates: {
      account: makeLimiter(operator.accountRequestsPerMinute),
      address: makeLimiter(operator.addressRequestsPerMinute),
      webhookTests: makeLimiter(TESTS_PER_MINUTE),
    },
    /** Tests of webhooks at once. */
    webhookTests: makeSemaphore(TESTS, "tests of webhooks"),
    webhooks: makeWebhookSender(config, environment),
    /** Null without a relay. */
    relay: makeRelayClient(config, environment),
    /** The ids of the requests in progress in this process. The sweeper skips their holds. */
    live,
  };
}
