import { errorBody } from "@inference/protocol/errors";
import type { NanoUsd } from "@inference/protocol/money";
import { limits } from "../../config.ts";
import type { Gateway } from "../../gateway.ts";
import { type Delivered, isNothingDelivered, nothingDelivered } from "../../pricing/quote.ts";
import { nothingReported } from "../../pricing/usage.ts";
import type { Call } from "../call.ts";
import type { ClientStream } from "../stream/client-stream.ts";
import type { Tap } from "../stream/tap.ts";

/** A checkpoint at the edge costs a millionth of a dollar, so at most a thousandth of the amount that it records. */
export const CHECKPOINT_NANO_USD = 1_000_000;
const WATCH_MS = 5_000;

type WatchedTap = Pick<Tap, "state" | "delivered" | "upstreamId" | "events">;

type Watch = { sawBytes(): void; checkpointIfDue(): void; stop(): void };

/**
 * Writes a checkpoint when the delivered content is worth one, or after a minute. Sends a comment if the stream is
 * idle, and gives up an answer that stalls.
 */
export function startWatch(gateway: Gateway, call: Call, tap: WatchedTap, client: ClientStream): Watch {
  const { clock, timers, log } = gateway.environment;
  let lastBytesAt = clock.now();
  let checkpointed = client.delivered();
  let checkpointedNanoUsd = chargeFor(checkpointed);
  let checkpointedAt = lastBytesAt;
  let drain: { cancel(): void } | undefined;
  let timer = timers.after(WATCH_MS, tick);
  client.onLeave(() => {
    drain = timers.after(gateway.config.drainMs, () => call.abort());
  });

  function tick(): void {
    timer = timers.after(WATCH_MS, tick);
    const now = clock.now();
    // The answer has ended for the client, and the provider still sends.
    const isOver = call.hasEnded || tap.state() !== "open";
    if (isOver) call.giveUp("The answer was over");
    else if (now - lastBytesAt >= gateway.config.request.streamIdleMs)
      call.giveUp("The provider sent nothing for too long");
    client.keepAlive(now);
    checkpointIfDue();
  }

  function chargeFor(delivered: Delivered): NanoUsd {
    return call.order.quote.chargeForDelivered(delivered);
  }

  function checkpointIfDue(): void {
    const delivered = client.delivered();
    // The bytes too, because a choice of a whole answer counts as an event only at its end.
    if (delivered.events === checkpointed.events && delivered.bytes === checkpointed.bytes) return;
    const now = clock.now();
    const chargeNanoUsd = chargeFor(delivered);
    const isWorth = chargeNanoUsd - checkpointedNanoUsd >= CHECKPOINT_NANO_USD;
    if (!isWorth && now - checkpointedAt < limits.checkpointMs) return;
    checkpointed = delivered;
    checkpointedNanoUsd = chargeNanoUsd;
    checkpointedAt = now;
    call
      .checkpoint(delivered)
      .catch((error: unknown) => log("warn", "checkpoint_failed", { request: call.id, error: String(error) }));
  }

  return {
    sawBytes() {
      lastBytesAt = clock.now();
    },
    checkpointIfDue,
    stop() {
      timer.cancel();
      drain?.cancel();
    },
  };
}

type IdCheckpoint = {
  /** Whether it must be written before the last chunk is passed on. */
  isDue(): boolean;
  /** False if it could not be written. The answer has ended then. */
  write(): Promise<boolean>;
};

/**
 * The checkpoint with the provider's id of the answer. It is written before anything is delivered, and again once the
 * id is known: if this process dies, the provider's record is found by the id. Until the first one is durable, nothing
 * is delivered and nothing is charged.
 *
 * @param isCheckpointed Whether the first one is durable already.
 */
export function startIdCheckpoint(
  gateway: Gateway,
  call: Call,
  tap: WatchedTap,
  client: ClientStream,
  isCheckpointed: boolean,
): IdCheckpoint {
  /** The id in the last checkpoint; undefined before the first. */
  let written = isCheckpointed ? call.upstreamId : undefined;
  return {
    isDue() {
      call.noteUpstreamId(tap.upstreamId());
      if (written !== undefined) return call.upstreamId !== written;
      return call.upstreamId !== null || !isNothingDelivered(tap.delivered());
    },
    async write() {
      const isFirst = written === undefined;
      written = call.upstreamId;
      try {
        await call.checkpoint(client.delivered());
        return true;
      } catch (error) {
        gateway.environment.log("warn", "checkpoint_failed", { request: call.id, error: String(error) });
        // The first checkpoint is durable, without this id.
        if (isFirst) await refuseToBegin(call, client, tap);
        return !isFirst;
      }
    },
  };
}

async function refuseToBegin(call: Call, client: ClientStream, { events }: WatchedTap): Promise<void> {
  const why = "its first checkpoint could not be written down";
  call.end({ kind: "nothing", why, ...nothingReported, mayBill: "whole" });
  call.abort();
  if (events === undefined) return client.fail();
  const message = "The ledger is unavailable. Nothing was charged. Retry in a few seconds.";
  await client.write(events.error(errorBody({ code: "ledger_unavailable", message })), nothingDelivered);
  client.close();
}
