import { limits } from "../../config.ts";
import type { Environment } from "../../environment.ts";
import { MAX_BACKLOG_BYTES, type OpenOutlet } from "../../http/outlet.ts";
import { type Delivered, nothingDelivered } from "../../pricing/quote.ts";
import type { Backlog } from "./backlog.ts";

/**
 * The client's end of a stream. The client never stops the writer: writes to a client that has left are dropped, and a
 * client that does not read for a while counts as one that has left.
 */
export type ClientStream = {
  /** What the request's handler returns. */
  response: Response;
  /**
   * Passes bytes on. Returns a promise if the client is behind, which resolves when there is room or the client left.
   *
   * @param delivered All that has been delivered, these bytes included.
   */
  write(bytes: Uint8Array, delivered: Delivered): Promise<void> | undefined;
  close(): void;
  /** Ends the stream as broken. */
  fail(): void;
  leave(): void;
  hasLeft(): boolean;
  /** What was written while the client was there. */
  delivered(): Delivered;
  /** Calls back when the client leaves; at once if it has left. */
  onLeave(callback: () => void): void;
  /** Sends what keeps the connection alive if nothing else was sent for a while. */
  keepAlive(nowMs: number): void;
};

export function openClientStream(
  { clock, timers }: Environment,
  options: {
    openOutlet: OpenOutlet;
    headers: Record<string, string>;
    keepAlive: (() => Uint8Array) | null;
    stalledReaderMs: number;
    backlog: Backlog;
  },
): ClientStream {
  let closed = false;
  let left = false;
  let lastWriteAt = clock.now();
  let makeRoom: (() => void) | undefined;
  let leaving: (() => void) | undefined;
  let delivered = nothingDelivered;
  /** Bytes are counted as waiting for the client. */
  let isBehind = false;

  const outlet = options.openOutlet(options.headers, {
    onRoom() {
      makeRoom?.();
      if (isBehind) tellBacklog();
    },
    onGone() {
      leave();
      options.backlog.ends(0);
    },
  });

  function leave(): void {
    if (left || closed) return;
    left = true;
    leaving?.();
    makeRoom?.();
  }

  function tellBacklog(): void {
    const bytes = left ? 0 : outlet.waitingBytes();
    isBehind = bytes > 0;
    options.backlog.waits(bytes);
  }

  function room(): Promise<void> {
    tellBacklog();
    return new Promise((resolve) => {
      const timer = timers.after(options.stalledReaderMs, () => {
        // From here on the client counts as gone.
        leave();
        breakOff("the client stopped reading");
        resolve();
      });
      makeRoom = () => {
        makeRoom = undefined;
        timer.cancel();
        tellBacklog();
        resolve();
      };
    });
  }

  function breakOff(why: string): void {
    over(() => outlet.breakOff(why));
  }

  function over(end: () => void): void {
    if (closed) return;
    closed = true;
    options.backlog.ends(left ? 0 : outlet.waitingBytes());
    try {
      end();
    } catch {
      // The client's cancel has closed it.
    }
  }

  return {
    response: outlet.response,
    write(bytes, deliveredByNow) {
      if (left || closed) return undefined;
      lastWriteAt = clock.now();
      outlet.write(bytes);
      delivered = deliveredByNow;
      return outlet.waitingBytes() < MAX_BACKLOG_BYTES ? undefined : room();
    },
    close: () => over(outlet.end),
    fail: () => breakOff("the answer broke off"),
    leave,
    hasLeft: () => left,
    delivered: () => delivered,
    onLeave(callback) {
      leaving = callback;
      if (left) callback();
    },
    keepAlive(nowMs) {
      if (options.keepAlive === null || left || closed || nowMs - lastWriteAt < limits.keepAliveMs) return;
      lastWriteAt = nowMs;
      outlet.write(options.keepAlive());
    },
  };
}
