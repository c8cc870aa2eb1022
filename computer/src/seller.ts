import { setTimeout as sleep } from "node:timers/promises";
import { oneLine } from "@inference/keeper/log";
import { type Service, startLoop } from "@inference/keeper/process";
import { formatUsd } from "@inference/protocol/money";
import { dayNumber } from "@inference/protocol/window";
import type { Connection } from "@inference/sdk/connection";
import { ClientError, RefusedError } from "@inference/sdk/errors";
import { type OfferSigner, type OfferState, putOffer, readOffer } from "@inference/sdk/offers";

export type SellerOptions = {
  connection: Connection;
  computer: OfferSigner;
  agentToken: `0x${string}`;
  shareBps: number;
  pollMs: number;
  say(line: string): void;
};

/** While the gateway does not answer, the pause grows up to this. */
const MOST_PAUSE_MS = 60_000;
/** How often a withdrawal is tried. */
const TRIES = 3;

/**
 * Keeps an offer of the gateway's day in force. It is of one day and is signed again after midnight, so that nothing is
 * sold for long if the computer is gone. The gateway's day counts, not this machine's. `ended` rejects with the
 * gateway's reason when it refuses for good. `stop` withdraws the offer, and rejects if the offer may stay.
 */
export function startSelling(options: SellerOptions): Required<Service> {
  const { connection, agentToken, shareBps, pollMs, say } = options;
  const terms = { computer: options.computer, agentToken, isStanding: false };
  let shown = "";
  let pauseMs = pollMs;
  /** An offer was sent and not answered: it may come into force later, or the gateway may not have it whole. */
  let mayFollow = false;

  async function poll(): Promise<void> {
    let state = await readOffer(connection, agentToken);
    if (mayFollow || offerOfToday(state)?.share_bps !== shareBps) {
      mayFollow = true;
      state = await putOffer(connection, { ...terms, shareBps });
      mayFollow = false;
      say(`Offered ${shareBps / 100} % of ${state.today.date}.`);
    }
    const { date, sold_nano_usd: sold, held_nano_usd: held, limit_nano_usd: limit } = state.today;
    const line = `${date}: sold ${formatUsd(sold)} of ${formatUsd(limit)} dollars, held ${formatUsd(held)}.`;
    if (line !== shown) say(line);
    shown = line;
  }

  async function round(): Promise<number> {
    try {
      await poll();
      pauseMs = pollMs;
    } catch (error) {
      if (isFinal(error)) throw error;
      if (pauseMs === pollMs) say(`${oneLine(error)} It is tried again.`);
      pauseMs = Math.min(pauseMs * 2, Math.max(MOST_PAUSE_MS, pollMs));
    }
    return pauseMs;
  }

  async function withdraw(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        if (offerOfToday(await readOffer(connection, agentToken)) === null && !mayFollow) return;
        // Its nonce refuses an offer that comes later.
        await putOffer(connection, { ...terms, shareBps: 0 });
        say("Withdrew the offer.");
        return;
      } catch (error) {
        if (attempt === TRIES || isFinal(error))
          throw new Error(`An offer of today may stay until 00:00 UTC: ${oneLine(error)}`);
        await sleep(Math.min(pollMs, 1_000));
      }
    }
  }

  const loop = startLoop(round);
  return { ended: loop.ended, stop: () => loop.stop().then(withdraw, withdraw) };
}

function offerOfToday({ offer, today }: OfferState): OfferState["offer"] {
  return offer?.day === dayNumber(Date.parse(today.date)) ? offer : null;
}

/** Whether a repetition fails too. A day that just ended and a nonce that was just used are other ones by then. */
function isFinal(error: unknown): boolean {
  if (error instanceof ClientError && error.code === "unknown_chain") return true;
  if (!(error instanceof RefusedError) || error.isRetryable) return false;
  const hasMoved = error.param === "day" || error.param === "nonce";
  return error.status < 500 && ![408, 409, 429].includes(error.status) && !hasMoved;
}
