import { makeOpenOffers, type OpenOffers } from "./agents/open-offers.ts";
import { type AgentOwners, makeAgentOwners } from "./auth/agent-owners.ts";
import { type Credentials, makeCredentials } from "./auth/credentials.ts";
import { makeReceiptKey, type ReceiptKey } from "./auth/receipt-key.ts";
import { makeSeenCredentials, type SeenCredentials } from "./auth/seen-credentials.ts";
import { makePriceList, type PriceList } from "./catalogue/price-list.ts";
import { type GatewayConfig, limits } from "./config.ts";
import type { Environment } from "./environment.ts";
import { makeReasoningSeal, type ReasoningSeal } from "./inference/answer/reasoning-seal.ts";
import { type AnswerMemory, makeAnswerMemory } from "./load/answer-memory.ts";
import { type BodyMemory, makeBodyMemory } from "./load/body-memory.ts";
import { type Breaker, makeBreaker } from "./load/breaker.ts";
import { makeFailureBudget } from "./load/failure-budget.ts";
import { type FairQueue, makeFairQueue } from "./load/fair-queue.ts";
import { type KeptBytes, makeKeptBytes } from "./load/kept-bytes.ts";
import { type Limiter, makeLimiter } from "./load/limiter.ts";
import { type LongAudio, makeLongAudio } from "./load/long-audio.ts";
import { makePace } from "./load/pace.ts";
import { makeSemaphore, type Semaphore } from "./load/semaphore.ts";
import { makeTurns, type Turns } from "./load/turns.ts";
import { type AccessLog, makeAccessLog } from "./operator/access-log.ts";
import { type Metrics, makeMetrics } from "./operator/metrics.ts";
import { makeProviderCosts, type ProviderCosts } from "./operator/provider-costs.ts";
import { makeRecentBooks, type RecentBooks } from "./operator/recent-books.ts";
import { makeRelayClient, type RelayClient } from "./top-up/relay-client.ts";
import { type CatalogueReads, makeCatalogueReads } from "./upstream/catalogue-reads.ts";
import { type KeyCheck, makeKeyCheck } from "./upstream/key-check.ts";
import { type KeyRecords, makeKeyRecords } from "./upstream/key-records.ts";
import { makeProvider, type Provider } from "./upstream/provider.ts";
import { makeSealer, type Sealer } from "./upstream/sealer.ts";
import { makeSecretFilters, type SecretFilters } from "./upstream/secret-writings.ts";
import { makeWebhookSender, TESTS, TESTS_PER_MINUTE, type WebhookSender } from "./webhooks/sender.ts";

/** The parts of a running gateway, made once. Routes and jobs are functions of it. */
export type Gateway = {
  config: GatewayConfig;
  environment: Environment;
  credentials: Credentials;
  /** Limit signature checks by contracts, and sign-ins for agents. */
  contractSignatures: Semaphore;
  agentSignIns: Semaphore;
  agentOwners: AgentOwners;
  keyRecords: KeyRecords;
  /** Limits readings of owners, capacities and computers. */
  chainReads: Semaphore;
  /** The open offers of agents. */
  openOffers: OpenOffers;
  /** Encrypts what the key-value store must not reveal. */
  sealer: Sealer;
  /** Seals the reasoning of answers, for clients to send back. */
  reasoningSeal: ReasoningSeal;
  provider: Provider;
  keyCheck: KeyCheck;
  /** Find and remove our keys at the provider in what it writes. */
  secrets: SecretFilters;
  breaker: Breaker;
  longAudio: LongAudio;
  queue: FairQueue;
  prices: PriceList;
  catalogueReads: CatalogueReads;
  providerCosts: ProviderCosts;
  /** Null: the operator did not ask for it. */
  accessLog: AccessLog | null;
  metrics: Metrics;
  books: RecentBooks;
  receiptKey: ReceiptKey;
  /** Requests a minute by account or identity and by client address, and tests of webhooks by account. */
  rates: { account: Limiter; address: Limiter; webhookTests: Limiter };
  /** Tests of webhooks at once. */
  webhookTests: Semaphore;
  webhooks: WebhookSender;
  /** Null without a relay. */
  relay: RelayClient | null;
  seen: SeenCredentials;
  bodyMemory: BodyMemory;
  /** Spreads work of milliseconds over turns of the event loop. */
  turns: Turns;
  /** Turns for free work: reads and sign-ins. Free work waits for free work, and paid requests never wait for it. */
  freeWork: Turns;
  answerMemory: AnswerMemory;
  /** Limits the answers that are kept for requests with an `Idempotency-Key`. */
  keptBytes: KeptBytes;
  /** The ids of the requests in progress in this process. The sweeper skips their holds. */
  live: Set<string>;
};

export function makeGateway(config: GatewayConfig, given: Environment): Gateway {
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
  const sealer = makeSealer(config.secret, environment.random, config.previousSecret);
  const chainReads = makeSemaphore(limits.chainReads, "readings of the chain");
  const keyRecords = makeKeyRecords(config, environment, { credentials, chainReads, sealer });
  return {
    config,
    environment,
    credentials,
    agentOwners: makeAgentOwners(environment, chainReads),
    keyRecords,
    chainReads,
    openOffers: makeOpenOffers(config, environment, { keyRecords, chainReads }),
    sealer,
    reasoningSeal: makeReasoningSeal(config.secret, environment.random, config.previousSecret),
    contractSignatures: makeSemaphore(limits.contractSignatures, "checks of contract wallets' signatures"),
    agentSignIns: makeSemaphore(limits.agentSignIns, "sign-ins for agents"),
    provider,
    keyCheck: makeKeyCheck(config.upstream.apiKey, environment, provider),
    secrets: makeSecretFilters([upstream.apiKey, upstream.recordKey, upstream.adminKey ?? ""]),
    prices: makePriceList(config, environment, provider),
    catalogueReads: makeCatalogueReads(environment, provider),
    metrics,
    accessLog: operator.accessLog === "1" ? makeAccessLog(environment, live) : null,
    providerCosts: makeProviderCosts(environment),
    books: makeRecentBooks(environment),
    receiptKey: makeReceiptKey(config.secret),
    seen: makeSeenCredentials(),
    bodyMemory: makeBodyMemory({ all: config.bodyMemoryBytes, small: limits.smallBodyBytes }),
    turns: makeTurns(timers),
    freeWork: makeTurns(timers, { everyMs: limits.freeWorkEveryMs }),
    answerMemory: makeAnswerMemory(config.answerMemoryBytes),
    keptBytes: makeKeptBytes({ each: limits.keptBytesEach, all: limits.keptBytes }),
    breaker: makeBreaker(operator.breaker),
    longAudio: makeLongAudio(config, environment),
    queue: makeFairQueue({ ...operator.queue, waitingEach: limits.queueWaitingEach }, timers, {
      failures: makeFailureBudget(operator.failures, clock),
      pace: makePace(clock),
    }),
    rates: {
      account: makeLimiter(operator.accountRequestsPerMinute),
      address: makeLimiter(operator.addressRequestsPerMinute),
      webhookTests: makeLimiter(TESTS_PER_MINUTE),
    },
    webhookTests: makeSemaphore(TESTS, "tests of webhooks"),
    webhooks: makeWebhookSender(config, environment),
    relay: makeRelayClient(config, environment),
    live,
  };
}
