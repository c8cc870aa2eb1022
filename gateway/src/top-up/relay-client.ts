import { type ErrorCode, errorTable, fail, GatewayError } from "@inference/protocol/errors";
import { ownValue } from "@inference/protocol/own-value";
import { within } from "@inference/protocol/timers";
import {
  type PaymentBody,
  type Relayed,
  type RelayedPayment,
  type RelayQuote,
  relayed,
  relayedPayment,
  relayQuotes,
  type TopUpBody,
} from "@inference/protocol/wire/top-up";
import * as z from "zod";
import type { GatewayConfig } from "../config.ts";
import type { Environment } from "../environment.ts";
import { makeSemaphore } from "../load/semaphore.ts";
import { makeSingleFlight } from "../load/single-flight.ts";

/**
 * The relay of the keeper, which checks and sends payments that programs signed. Its work is bounded for all clients
 * and for each, because anyone can ask. Its errors are passed on; 503 `chain_unavailable` if it does not answer.
 */
export type RelayClient = {
  /** The terms of each chain, at most {@link FRESH_MS} old. */
  quotes(at: number): Promise<readonly RelayQuote[]>;
  permitNonce(chainId: number, owner: string, client: string | undefined): Promise<bigint>;
  topUp(body: TopUpBody, client: string | undefined): Promise<Relayed>;
  pay(body: PaymentBody, client: string | undefined): Promise<RelayedPayment>;
  find(id: string, client: string | undefined): Promise<Relayed>;
};

const FRESH_MS = 15_000;
/** How long a relay that did not answer with them is not asked again. */
const FAILED_MS = 3_000;
/** A new payment costs the relay at most six requests to its node. */
const ANSWER_MS = 15_000;
const QUOTES_MS = 3_000;
const MAX_ANSWER = 64 * 1024;
/**
 * Questions to the relay that are in progress and that wait. A network without one may have one that waits, because
 * eight networks with signed payments and no dollars can have all that are in progress.
 */
const ASKED = { atOnce: 32, each: 4 };
/** With {@link ANSWER_MS} less than the 30 s that a Worker runs after its client has left. */
const WAITING = { most: 64, ms: 10_000 };

/** Null without a relay. */
export function makeRelayClient(
  { relay }: Pick<GatewayConfig, "relay">,
  environment: Pick<Environment, "relay" | "timers" | "background">,
): RelayClient | null {
  const send = environment.relay;
  if (relay === null || send === undefined) return null;
  const through = makeSemaphore(
    { ...ASKED, waiting: { ...WAITING, timers: environment.timers } },
    "questions to the relay",
  );
  const once = makeSingleFlight<readonly RelayQuote[]>(environment);
  let known: { quotes: readonly RelayQuote[]; at: number } | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;

  async function ask<S extends z.ZodType>(
    schema: S,
    { path, body, ms = ANSWER_MS }: { path: string; body?: unknown; ms?: number },
  ): Promise<z.output<S>> {
    const headers = { authorization: `Bearer ${relay?.secret}`, "content-type": "application/json" };
    let answer: { status: number; value: unknown };
    try {
      answer = await within(environment.timers, ms, async (signal) => {
        const sent = body === undefined ? { method: "GET" } : { method: "POST", body: JSON.stringify(body) };
        const response = await send?.(`${relay?.url}/${path}`, { ...sent, headers, signal, redirect: "manual" });
        const text = (await response?.text()) ?? "";
        if (text.length > MAX_ANSWER) throw new Error("too long");
        return { status: response?.status ?? 0, value: JSON.parse(text) as unknown };
      });
    } catch {
      return unavailable(body !== undefined);
    }
    if (answer.status !== 200) throw errorOf(answer.value) ?? unavailable(body !== undefined);
    const read = schema.safeParse(answer.value);
    return read.success ? read.data : unavailable(body !== undefined);
  }
  return {
    async quotes(at) {
      if (known !== undefined && at - known.at < FRESH_MS) return known.quotes;
      if (at - failedAt < FAILED_MS) unavailable();
      return once("quotes", async () => {
        try {
          const { chains: quotes } = await ask(relayQuotes, { path: "quotes", ms: QUOTES_MS });
          known = { quotes, at };
          return quotes;
        } catch (error) {
          failedAt = at;
          throw error;
        }
      });
    },
    permitNonce: (chainId, owner, client) =>
      through(async () => BigInt((await ask(nonceAnswer, { path: `permit-nonce/${chainId}/${owner}` })).nonce), client),
    topUp: (body, client) => through(() => ask(relayed, { path: "top-ups", body }), client),
    pay: (body, client) => through(() => ask(relayedPayment, { path: "payments", body }), client),
    find: (id, client) => through(() => ask(relayed, { path: `payments/${id}` }), client),
  };
}

const nonceAnswer = z.object({ nonce: z.string().regex(/^\d{1,78}$/) });

/** The relay writes errors as the gateway does. */
function errorOf(value: unknown): GatewayError | undefined {
  const error = (value as { error?: { code?: unknown; message?: unknown; param?: unknown } } | null)?.error;
  const code = String(error?.code);
  if (ownValue(errorTable, code) === undefined || code === "missing_credentials") return undefined;
  const param = typeof error?.param === "string" ? error.param : null;
  return new GatewayError({ code: code as ErrorCode, message: String(error?.message), param });
}

/** @param isSent The relay may have what was signed. */
function unavailable(isSent = false): never {
  const message = isSent
    ? "The relay did not answer in time, so your payment may be on its way. Send the same again before its deadline: it pays once."
    : "The relay that sends payments does not answer. Retry in a few seconds.";
  return fail("chain_unavailable", message, { retryAfterS: 3 });
}
