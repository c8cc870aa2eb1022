import type { GatewayConfig } from "@inference/gateway/config";
import type { SharedLimits } from "@inference/gateway/gateway";
import { makeBoundedMap } from "@inference/gateway/limits/bounded-map";
import { type Breaker, makeBreaker } from "@inference/gateway/limits/breaker";
import type { FairQueue, Turn } from "@inference/gateway/limits/fair-queue";
import type { Limiter } from "@inference/gateway/limits/limiter";
import { type ErrorDetail, GatewayError } from "@inference/protocol/errors";
import type { Channel, Handlers } from "./channel.ts";

/**
 * The limits that all HTTP threads keep together. The main thread has the real ones (`serveLimits`), and each thread
 * has these parts of them:
 *
 * - **The turns** at the provider, and the failures there: the main thread gives and counts them, so these limits are
 *   exact.
 * - **Requests a minute**: a thread tells each request, and the main thread tells all threads which names are above
 *   their limit, and until when. A thread can admit too many only until that arrives.
 * - **The breaker**: each thread has one, and tells the others what changes it. While that is on its way, each thread
 *   may let one request try a model, and a failure may count in one thread only.
 */
export function sharedLimits({ operator }: GatewayConfig, channel: Channel): SharedLimits & { handlers: Handlers } {
  const account = toldLimiter(operator.accountRequestsPerMinute, "account", channel);
  const address = toldLimiter(operator.addressRequestsPerMinute, "address", channel);
  const local = makeBreaker(operator.breaker);
  return {
    queue: askedQueue(channel),
    rates: { account, address },
    breaker: toldBreaker(local, (event) => channel.tell("breaker", event)),
    live: new ToldSet(channel),
    handlers: {
      tooMany: (kind: RateKind, name: string, above: Above) =>
        (kind === "account" ? account : address).refuse(name, above),
      breaker: (event: BreakerEvent) => applyToBreaker(local, event),
    },
  };
}

export type RateKind = "account" | "address";
/** Why, and until when, the requests of a name are refused. */
export type Above = { until: number; detail: ErrorDetail };

/** Names that are above their limit and that a thread remembers. */
const MAX_NAMES = 100_000;

function toldLimiter(
  perMinute: number | null,
  kind: RateKind,
  channel: Channel,
): Limiter & { refuse(name: string, above: Above): void } {
  if (perMinute === null) return { admit: () => undefined, refuse: () => undefined };
  const refused = makeBoundedMap<string, Above>(MAX_NAMES);
  return {
    admit(name, atMs) {
      const above = refused.get(name);
      if (above !== undefined) {
        const leftMs = above.until - atMs;
        if (leftMs > 0) throw new GatewayError({ ...above.detail, retryAfterS: Math.ceil(leftMs / 1000) });
        refused.delete(name);
      }
      channel.mention("admitted", kind, name, atMs);
    },
    refuse: (name, above) => refused.set(name, above),
  };
}

/** The main thread names a turn by its ticket. */
function askedQueue(channel: Channel): FairQueue {
  let lastTicket = 0;
  const turnOf = (ticket: number): Turn => ({
    answered: (answer) => channel.tell("answered", ticket, answer),
    leave: () => channel.tell("leave", ticket),
  });
  return {
    async tryEnter(asker) {
      lastTicket += 1;
      const ticket = lastTicket;
      return (await channel.call<boolean>("tryEnter", ticket, asker)) ? turnOf(ticket) : null;
    },
    async enter(asker, gone) {
      lastTicket += 1;
      const ticket = lastTicket;
      const entered = channel.call<void>("enter", ticket, asker);
      const giveUp = (): void => channel.tell("giveUp", ticket);
      if (gone?.aborted === true) giveUp();
      gone?.addEventListener("abort", giveUp);
      try {
        await entered;
      } finally {
        gone?.removeEventListener("abort", giveUp);
      }
      return turnOf(ticket);
    },
    // The main thread's are in the metrics.
    waiting: () => 0,
    standing: () => ({ failures: 0, isBlocked: false }),
  };
}

/** What changes a breaker: a method and its arguments. */
export type BreakerEvent =
  | readonly ["admit", model: string, account: string, atMs: number]
  | readonly ["succeeded", model: string]
  | readonly ["failed", model: string, account: string | null, atMs: number]
  | readonly ["gaveUp", model: string, admittedAtMs: number];

export function applyToBreaker(breaker: Breaker, event: BreakerEvent): void {
  switch (event[0]) {
    case "admit":
      try {
        breaker.admit(event[1], event[2], event[3]);
      } catch {
        // A request of this thread tries too.
      }
      break;
    case "succeeded":
      breaker.succeeded(event[1]);
      break;
    case "failed":
      breaker.failed(event[1], event[2], event[3]);
      break;
    case "gaveUp":
      breaker.gaveUp(event[1], event[2]);
  }
}

/** While no request fails, nothing is told. */
function toldBreaker(local: Breaker, tell: (event: BreakerEvent) => void): Breaker {
  return {
    ...local,
    admit(model, account, atMs) {
      local.admit(model, account, atMs);
      if (local.isTroubled(model)) tell(["admit", model, account, atMs]);
    },
    succeeded(model) {
      if (!local.isTroubled(model)) return;
      local.succeeded(model);
      tell(["succeeded", model]);
    },
    failed(model, account, atMs) {
      local.failed(model, account, atMs);
      tell(["failed", model, account, atMs]);
    },
    gaveUp(model, admittedAtMs) {
      if (!local.isTroubled(model)) return;
      local.gaveUp(model, admittedAtMs);
      tell(["gaveUp", model, admittedAtMs]);
    },
  };
}

/** The sweeper, in the main thread, has to know the requests in progress. */
class ToldSet extends Set<string> {
  readonly #channel: Channel;

  constructor(channel: Channel) {
    super();
    this.#channel = channel;
  }

  override add(id: string): this {
    this.#channel.mention("live", id);
    return super.add(id);
  }

  override delete(id: string): boolean {
    this.#channel.mention("ended", id);
    return super.delete(id);
  }
}
