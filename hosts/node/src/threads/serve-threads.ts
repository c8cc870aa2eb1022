import { type AddressInfo, createServer } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { Worker } from "node:worker_threads";
import type { GatewayConfig } from "@inference/gateway/config";
import type { Environment } from "@inference/gateway/environment";
import type { Gateway } from "@inference/gateway/gateway";
import type { Answered, Asker, Turn } from "@inference/gateway/limits/fair-queue";
import { smallestMemory } from "@inference/gateway/limits/held-bodies";
import type { Counts } from "@inference/gateway/operator/metrics";
import { metricsText } from "@inference/gateway/routes/metrics";
import type { Command } from "@inference/ledger/commands";
import type { Partition } from "@inference/ledger/partition";
import { send } from "@inference/ledger/saga";
import { GatewayError } from "@inference/protocol/errors";
import { type ListenSettings, portError } from "../listen.ts";
import { type Channel, type Handlers, openChannel } from "./channel.ts";
import type { ThreadData } from "./http-thread.ts";
import { STANDING_MS, type Standing, standingOf } from "./remote-environment.ts";
import { applyToBreaker, type BreakerEvent, type RateKind } from "./shared-limits.ts";

export type ServeOptions = {
  threads: number;
  /** The main thread's: it does the jobs, and has the limits that the threads share. */
  gateway: Gateway;
  /** What the threads use of the main thread. */
  environment: Environment;
  listening: ListenSettings;
  dashboard: ThreadData["dashboard"];
  /** A thread has died. Its requests are lost, and only the end of the process frees what they held. */
  onFatal(error: unknown): void;
};

/** Serves HTTP in several threads on one port, with one ledger in this thread. */
export async function serveThreads(options: ServeOptions): Promise<{ url: string; close(): Promise<void> }> {
  const { threads, gateway, environment, onFatal } = options;
  const { HOST } = options.listening;
  const listening = { ...options.listening, PORT: await freePort(options.listening), sharesPort: true };
  let standing = standingOf(environment);
  let isClosing = false;
  const config = configOfThread(gateway.config, threads);
  const workerData: ThreadData = { config, listening, dashboard: options.dashboard, standing };
  const running = Array.from({ length: threads }, () => startThread());

  function all(): Channel[] {
    return running.map(({ channel }) => channel);
  }

  function startThread(): { worker: Worker; channel: Channel } {
    const worker = new Worker(new URL("./http-thread.ts", import.meta.url), { workerData });
    const others = (): Channel[] => running.filter((thread) => thread.worker !== worker).map(({ channel }) => channel);
    const channel = openChannel(worker, {
      ...serveEnvironment(environment),
      ...serveLimits(gateway, { others, all }),
      metrics,
    });
    const died = (error: Error): void => {
      channel.end(error);
      if (!isClosing) onFatal(error);
      isClosing = true;
    };
    worker.on("error", died);
    worker.on("exit", (code) => died(new Error(`a thread has ended with ${code}`)));
    return { worker, channel };
  }

  async function metrics(): Promise<string> {
    const counts = await Promise.all(running.map(({ channel }) => channel.call<Counts>("counts")));
    return metricsText(gateway, [gateway.metrics.counts, ...counts], environment.clock.now());
  }

  const timer = setInterval(() => {
    const next: Standing = standingOf(environment);
    if (isDeepStrictEqual(next, standing)) return;
    standing = next;
    for (const { channel } of running) channel.tell("standing", next);
  }, STANDING_MS);

  async function close(): Promise<void> {
    await Promise.allSettled(running.map(({ channel }) => channel.call("stop")));
    isClosing = true;
    clearInterval(timer);
    await Promise.all(running.map(({ worker }) => worker.terminate()));
  }

  try {
    await Promise.all(running.map(({ channel }) => channel.call("start")));
  } catch (error) {
    await close();
    throw error;
  }
  return { url: `http://${HOST.includes(":") ? `[${HOST}]` : HOST}:${listening.PORT}`, close };
}

/** The threads divide the memory for bodies and answers. Each has enough for the largest body of one sender. */
function configOfThread(config: GatewayConfig, threads: number): GatewayConfig {
  const { chatBodyBytes, otherBodyBytes } = config.request;
  const least = smallestMemory(Math.max(chatBodyBytes, otherBodyBytes));
  return {
    ...config,
    heldBodyBytes: Math.max(least, Math.floor(config.heldBodyBytes / threads)),
    heldAnswerBytes: Math.max(LEAST_ANSWER_BYTES, Math.floor(config.heldAnswerBytes / threads)),
  };
}

/** As much as a Worker has. */
const LEAST_ANSWER_BYTES = 16 * 1024 * 1024;

/**
 * A port that nobody listens on. Sockets that share their port could join those of another gateway, and take a part of
 * its requests, so it is first taken by one that shares nothing.
 */
function freePort({ HOST, PORT }: ListenSettings): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error) => reject(portError(error, PORT)));
    server.listen(PORT, HOST, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/** What `remote-environment.ts` calls. */
function serveEnvironment({ ledger, keyValue, chain, log }: Environment): Handlers {
  return {
    execute: (partition: Partition, command: Command, options: Parameters<typeof ledger.run>[1]) =>
      ledger.run(() => send(partition, command), options),
    reserve: ledger.reserve,
    read: ledger.read,
    lapsedHolds: ledger.lapsedHolds,
    overdue: ledger.overdue,
    ...{ get: keyValue.get, put: keyValue.put, delete: keyValue.delete, list: keyValue.list },
    agentOwner: chain.agentOwner,
    agentSeller: chain.agentSeller,
    capacityToday: chain.capacityToday,
    acceptsSignature: chain.acceptsSignature,
    books: chain.books,
    pendingActivations: chain.pendingActivations,
    log,
  };
}

/** What `shared-limits.ts` calls and tells. */
function serveLimits(
  { rates, breaker, live, queue }: Gateway,
  { others, all }: { others(): Channel[]; all(): Channel[] },
): Handlers {
  const inQueue = new Map<number, AbortController>();
  const turns = new Map<number, Turn>();
  return {
    async tryEnter(ticket: number, asker: Asker) {
      const turn = await queue.tryEnter(asker);
      if (turn !== null) turns.set(ticket, turn);
      return turn !== null;
    },
    async enter(ticket: number, asker: Asker) {
      const gone = new AbortController();
      inQueue.set(ticket, gone);
      try {
        turns.set(ticket, await queue.enter(asker, gone.signal));
      } finally {
        inQueue.delete(ticket);
      }
    },
    giveUp: (ticket: number) => inQueue.get(ticket)?.abort(),
    answered: (ticket: number, answer: Answered) => turns.get(ticket)?.answered(answer),
    leave(ticket: number) {
      turns.get(ticket)?.leave();
      turns.delete(ticket);
    },
    admitted(kind: RateKind, name: string, at: number) {
      try {
        rates[kind].admit(name, at);
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        const above = { until: at + 1000 * (error.detail.retryAfterS ?? 1), detail: error.detail };
        for (const channel of all()) channel.tell("tooMany", kind, name, above);
      }
    },
    breaker(event: BreakerEvent) {
      applyToBreaker(breaker, event);
      for (const channel of others()) channel.tell("breaker", event);
    },
    live: (id: string) => live.add(id),
    ended: (id: string) => live.delete(id),
  };
}
