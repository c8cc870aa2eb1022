import { makeOpenOffers, type OpenOffers } from "./agents/open-offers.ts";
import { type AgentOwners, makeAgentOwners } from "./auth/agent-owners.ts";
import { type Credentials, makeCredentials } from "./auth/credentials.ts";
import { makeReceiptKey, type ReceiptKey } from "./auth/receipt-key.ts";
import { makeSeenCredentials, type SeenCredentials } from "./auth/seen-credentials.ts";
import { makePriceList, type PriceList } from "./catalogue/price-list.ts";
import { type GatewayConfig, limits } from "./config.ts";
import type { Environment } from "./environment.ts";
import { makeReasoningSeal, type ReasoningSeal } from "./inference/reasoning-seal.ts";
import { type Breaker, makeBreaker } from "./limits/breaker.ts";
import { makeFailureBudget } from "./limits/failure-budget.ts";
import { type FairQueue, makeFairQueue } from "./limits/fair-queue.ts";
import { type HeldAnswers, makeHeldAnswers } from "./limits/held-answers.ts";
import { type HeldBodies, makeHeldBodies } from "./limits/held-bodies.ts";
import { type KeptBytes, makeKeptBytes } from "./limits/kept-bytes.ts";
import { type Limiter, makeLimiter } from "./limits/limiter.ts";
import { makePace } from "./limits/pace.ts";
import { makeSemaphore, type Semaphore } from "./limits/semaphore.ts";
import { makeSlicedWork, type SlicedWork } from "./limits/sliced-work.ts";
import { type Metrics, makeMetrics } from "./operator/metrics.ts";
import { makeRecentBooks, type RecentBooks } from "./operator/recent-books.ts";
import { type CatalogueReads, makeCatalogueReads } from "./upstream/catalogue-reads.ts";
import { type KeyCheck, makeKeyCheck } from "./upstream/key-check.ts";
import { type KeyRecords, makeKeyRecords } from "./upstream/key-records.ts";
import { makeProvider, type Provider } from "./upstream/provider.ts";
import { makeSealer, type Sealer } from "./upstream/sealer.ts";
import { makeSecretFilters, type SecretFilters } from "./upstream/secret-writings.ts";

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
  /** What agents sell now. */
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
  queue: FairQueue;
  prices: PriceList;
  catalogueReads: CatalogueReads;
  metrics: Metrics;
  books: RecentBooks;
  receiptKey: ReceiptKey;
  /** Requests a minute, by account or identity and by client address. */
  rates: { account: Limiter; address: Limiter };
  seen: SeenCredentials;
  heldBodies: HeldBodies;
  /** Runs long computations in pieces. */
  slicedWork: SlicedWork;
  /** Reads and sign-ins, which are free. They wait for each other, and no request that pays waits for them. */
  freeWork: SlicedWork;
  heldAnswers: HeldAnswers;
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
  const { clock, timers } = environment;
  const provider = makeProvider(upstream, environment.upstream);
  const credentials = makeCredentials(config.secret, environment.random);
  const sealer = makeSealer(config.secret, environment.random);
  const chainReads = makeSemaphore(limits.chainReads, "readings of the chain");
  const slicedWork = makeSlicedWork(timers);
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
    reasoningSeal: makeReasoningSeal(config.secret, environment.random),
    contractSignatures: makeSemaphore(limits.contractSignatures, "checks of contract wallets' signatures"),
    agentSignIns: makeSemaphore(limits.agentSignIns, "sign-ins for agents"),
    provider,
    keyCheck: makeKeyCheck(config.upstream.apiKey, environment, provider),
    secrets: makeSecretFilters([upstream.apiKey, upstream.recordKey, upstream.adminKey ?? ""]),
    prices: makePriceList(config, environment, provider),
    catalogueReads: makeCatalogueReads(environment, provider),
    metrics,
    books: makeRecentBooks(environment),
    receiptKey: makeReceiptKey(config.secret),
    seen: makeSeenCredentials(),
    heldBodies: makeHeldBodies({ all: config.heldBodyBytes, small: limits.smallBodyBytes }),
    slicedWork,
    freeWork: makeSlicedWork(timers, { everyMs: limits.freeWorkEveryMs }),
    heldAnswers: makeHeldAnswers(config.heldAnswerBytes),
    keptBytes: makeKeptBytes({ each: limits.keptBytesEach, all: limits.keptBytes }),
    breaker: makeBreaker(operator.breaker),
    queue: makeFairQueue({ ...operator.queue, waitingEach: limits.queueWaitingEach }, timers, {
      failures: makeFailureBudget(operator.failures, clock),
      pace: makePace(clock),
    }),
    rates: {
      account: makeLimiter(operator.accountRequestsPerMinute),
      address: makeLimiter(operator.addressRequestsPerMinute),
    },
    live: new Set(),
  };
}
