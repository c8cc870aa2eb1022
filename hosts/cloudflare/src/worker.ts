import { waitUntil } from "cloudflare:workers";
import type { ExecutionContext } from "@cloudflare/workers-types";
import { type App, makeApp } from "@inference/gateway/app";
import { limits } from "@inference/gateway/config";
import type { Gateway } from "@inference/gateway/gateway";
import { malformed } from "@inference/gateway/http/malformed";
import { makeRequestId } from "@inference/protocol/id";
import { resultWithin } from "@inference/protocol/timers";
import type { Bindings } from "./bindings.ts";
import type { FollowedChain } from "./chain-look.ts";
import { openEdgeGateway } from "./edge-gateway.ts";
import { makeEdgeLedger } from "./ledger.ts";
import { log } from "./log.ts";
import { timers } from "./timers.ts";

export { ChainObject } from "./chain-object.ts";
export { Operator } from "./operator.ts";
export { PartitionObject } from "./partition-object.ts";

type Running = { gateway: Gateway; app: App; chain: FollowedChain; refreshPrices(): Promise<void> | undefined };
let running: Running | undefined;

export default {
  async fetch(request: Request, bindings: Bindings, event: ExecutionContext): Promise<Response> {
    running ??= start(bindings);
    const answer = serve(request, running, event);
    // Otherwise the event ends with its client, and then neither `catch` nor `finally` runs.
    event.waitUntil(answer);
    return answer;
  },
};

async function serve(request: Request, { app, chain, refreshPrices }: Running, event: ExecutionContext) {
  if (!URL.canParse(request.url)) return unreadable();
  const prices = refreshPrices();
  const showsChain = request.method === "GET" && SHOWS_CHAIN.test(new URL(request.url).pathname);
  const look = chain.look(showsChain ? SHOWN_AFTER_MS : LOOK_AFTER_MS);
  event.waitUntil(look);
  if (prices !== undefined) await prices;
  await (showsChain ? look : chain.known());
  return app.fetch(request, { peerAddress: request.headers.get("cf-connecting-ip") ?? undefined });
}

/** The runtime passes on a request with an invalid host, whose address is no URL. */
function unreadable(): Response {
  const id = makeRequestId(Date.now(), crypto.getRandomValues(new Uint8Array(10)));
  const { status, headers, body } = malformed(id, "invalid_request", "The request cannot be read: Invalid URL.");
  return new Response(body, { status, headers });
}

const SHOWS_CHAIN = /\/(credits|status|healthz|metrics|activations\/[^/]+)$/;
const SHOWN_AFTER_MS = 1_000;
/** Other requests keep the chain's object running, and learn whether the ledger is old. */
const LOOK_AFTER_MS = 10_000;

function start(bindings: Bindings): Running {
  const { gateway, chain } = openEdgeGateway(bindings, {
    ledger: makeEdgeLedger(bindings, { background: waitUntil }),
    background: waitUntil,
  });
  return { gateway, chain, app: makeApp(gateway), refreshPrices: makePriceRefresh(gateway) };
}

/**
 * A Worker has no timers of its own, so a request that finds old prices has them read again. A request waits for this
 * read only if there are no prices, and only in its first seconds. Code that needs a price and finds none throws.
 */
function makePriceRefresh({ environment, prices }: Gateway): Running["refreshPrices"] {
  let readAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let first: Promise<void> | undefined;
  async function refresh(): Promise<void> {
    try {
      await prices.refresh();
      readAt = Date.now();
    } catch (error) {
      log("warn", "prices_failed", { error: String(error) });
    }
  }
  return () => {
    const now = Date.now();
    if (now - readAt >= limits.catalogueRefreshMs && now - triedAt >= limits.goneModelRefreshMs) {
      triedAt = now;
      first = refresh();
      environment.background(first);
    }
    if (now - readAt < limits.catalogueMaxAgeMs || first === undefined) return undefined;
    const leftMs = Math.max(0, triedAt + FIRST_PRICES_MS - now);
    return resultWithin(timers, leftMs, first).catch(() => undefined);
  };
}

/** A provider that does not answer delays requests that need no price for no longer than this. */
const FIRST_PRICES_MS = 5_000;
