import { oneLine } from "@inference/keeper/log";
import { type Service, startLoop } from "@inference/keeper/process";
import { formatUsd } from "@inference/protocol/money";
import type { Settlement } from "@inference/protocol/use-leaf";
import { DAY_MS } from "@inference/protocol/window";
import { ComputerError } from "./computer-error.ts";
import { type GatewayClient, GatewayRefused, type OfferState } from "./gateway.ts";

export type SellerOptions = {
  gateway: GatewayClient;
  settlement: Settlement;
  agentToken: `0x${string}`;
  shareBps: number;
  pollMs: number;
  say(line: string): void;
  /** Looks for the reason of a refusal: throws {@link ComputerError} if the registry has it. */
  explain(): Promise<void>;
};

/** While the gateway does not answer, the pause grows up to this. */
const MOST_PAUSE_MS = 60_000;
/** How often an offer is signed again in one poll, if another one took its nonce. */
const TRIES = 3;

/**
 * Keeps an offer of the gateway's day in force. It is of one day and is signed again after midnight, so that nothing is
 * sold for long if the computer is gone. The gateway's day counts, not this machine's. `ended` rejects with
 * {@link ComputerError} when the computer cannot sell any more. `stop` withdraws the offer, and rejects with
 * {@link ComputerError} if the offer stays.
 */
export function startSelling(options: SellerOptions): Required<Service> {
  const { gateway, settlement, agentToken, shareBps, pollMs, say, explain } = options;
  /** The nonce of the last offer that we signed, or found. It may be in force even if the gateway did not answer. */
  let lastNonce: number | undefined;
  let shown = "";
  let pauseMs = pollMs;

  async function poll(): Promise<void> {
    let state = await gateway.read();
    if (!isOffered(state)) state = await offer(state);
    show(state);
  }

  /** Whether the offer in force is the one that we want. An earlier one with other terms is replaced. */
  function isOffered({ offer: current, today }: OfferState): boolean {
    const day = dayOf(today.date);
    if (current === null) return false;
    if (lastNonce !== undefined && current.day === day && current.nonce > lastNonce) {
      throw new ComputerError(
        `Another computer signs offers with this key (nonce ${current.nonce}): stop one of them.`,
      );
    }
    if (current.day !== day || current.share_bps !== shareBps) return false;
    lastNonce ??= current.nonce;
    return true;
  }

  async function offer(first: OfferState): Promise<OfferState> {
    let state = first;
    for (let attempt = 1; ; attempt += 1) {
      const day = dayOf(state.today.date);
      const nonce = state.next_nonce;
      lastNonce = nonce;
      try {
        const put = await gateway.send(settlement, { agentToken, day, shareBps, nonce });
        say(`Offered ${shareBps / 100} % of ${state.today.date} (nonce ${nonce}).`);
        return put;
      } catch (error) {
        if (error instanceof GatewayRefused) await explain().catch(onlyComputerErrors);
        state = await gateway.read();
        // A gateway that went to another day, or took another offer meanwhile, refuses this one and takes the next.
        const hasMoved = state.next_nonce !== nonce || dayOf(state.today.date) !== day;
        if (!hasMoved || attempt === TRIES) throw error;
      }
    }
  }

  function show({ today }: OfferState): void {
    const { date, sold_nano_usd: sold, held_nano_usd: held, limit_nano_usd: limit } = today;
    const line = `${date}: sold ${formatUsd(sold)} of ${formatUsd(limit)} dollars, held ${formatUsd(held)}.`;
    if (line !== shown) say(line);
    shown = line;
  }

  async function round(): Promise<number> {
    try {
      await poll();
      pauseMs = pollMs;
    } catch (error) {
      if (error instanceof ComputerError) throw error;
      if (pauseMs === pollMs) say(`${oneLine(error)} It is tried again.`);
      pauseMs = Math.min(pauseMs * 2, Math.max(MOST_PAUSE_MS, pollMs));
    }
    return pauseMs;
  }

  async function withdraw(): Promise<void> {
    if (lastNonce === undefined) return;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const { offer: current, next_nonce: nonce, today } = await gateway.read();
        if (current === null || current.day !== dayOf(today.date)) return;
        await gateway.send(settlement, { agentToken, day: current.day, shareBps: 0, nonce });
        say("Withdrew the offer.");
        return;
      } catch (error) {
        if (attempt < TRIES) continue;
        throw new ComputerError(`The offer was not withdrawn and ends at 00:00 UTC: ${oneLine(error)}`);
      }
    }
  }

  const loop = startLoop(round);
  return { ended: loop.ended, stop: () => loop.stop().then(withdraw, withdraw) };
}

/** A node that does not answer explains nothing. */
function onlyComputerErrors(error: unknown): void {
  if (error instanceof ComputerError) throw error;
}

/** Days since 1970. */
function dayOf(date: string): number {
  return Date.parse(date) / DAY_MS;
}
