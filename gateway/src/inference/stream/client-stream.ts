import { limits } from "../../config.ts";
import type { Environment } from "../../environment.ts";
import { MAX_BACKLOG_BYTES, type OpenOutlet } from "../../http/outlet.ts";
import type { AnswerShare, WhenSent } from "../../load/answer-memory.ts";
import { type Delivered, nothingDelivered } from "../../pricing/quote.ts";

/**
 * The client's end of a stream. The client never stops the writer. Writes to a departed client are dropped, and a
 * client that does not read for a while counts as departed.
 */
export type ClientStream = {
  /** The response that the request's handler returns. */
  response: Response;
  /**
   * Passes bytes on. Returns a promise if the client is behind, which resolves when there is room or the client left.
   *
   * @param delivered The delivered content, these bytes included.
   */
  write(bytes: Uint8Array, delivered: Delivered): Promise<void> | undefined;
  close(): void;
  /** Ends the stream as broken. */
  fail(): void;
  leave(): void;
  hasLeft(): boolean;
  /** The content that was written before the client left. */
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

/** A client stream's reports about the bytes that wait in it. */
type Backlog = {
  /** This many bytes wait now. */
  waits(bytes: number): void;
  /** Nothing more is written, and this many bytes still wait. */
  ends(bytes: number): void;
};

/** Counts the bytes that wait for a client in the memory of its answer, until they were sent. */
export function countBacklog(held: AnswerShare, whenSent: WhenSent | undefined): Backlog {
  let isSent = false;
  whenSent?.(() => {
    isSent = true;
    held.release();
  });
  return {
    waits(bytes) {
      if (!isSent) held.set(bytes);
    },
    // A host that cannot report the last byte has the bytes from here on.
    ends(bytes) {
      if (!isSent) held.set(whenSent === undefined ? 0 : bytes);
    },
  };
}
