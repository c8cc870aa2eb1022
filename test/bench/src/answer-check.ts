import { STREAM_ENDING } from "./load-plan.ts";

/** Decides, while the bytes of one answer pass, whether it was the whole answer. */
export interface AnswerCheck {
  take(bytes: Buffer): void;
  /** Undefined if it was whole, else what was wrong; ready for the next answer afterwards. */
  finish(status: number): string | undefined;
}

/** A stream: exactly this many `data:` lines, and its end. `seen` is called with each number of new ones. */
export function streamCheck(expectedEvents: number, seen: (events: number) => void): AnswerCheck {
  const LF = 0x0a;
  const D = 0x64; // of the fields an event stream may have, only `data` begins so
  let events = 0;
  let lineStart = true;
  let tail = "";
  return {
    take(bytes) {
      const before = events;
      for (let at = 0; at < bytes.length; at += 1) {
        const byte = bytes[at];
        if (lineStart && byte === D) events += 1;
        lineStart = byte === LF;
      }
      if (events > before) seen(events - before);
      const last = bytes.toString("latin1", Math.max(0, bytes.length - STREAM_ENDING.length));
      tail = (tail + last).slice(-STREAM_ENDING.length);
    },
    finish(status) {
      const counted = events;
      const ended = tail;
      events = 0;
      lineStart = true;
      tail = "";
      if (status !== 200) return `status ${status}`;
      if (ended !== STREAM_ENDING) return "stream without its end";
      return counted === expectedEvents ? undefined : `stream of ${counted} events`;
    },
  };
}

/**
 * A buffered completion: status 200 and a JSON object. The first is parsed and must hold usage; later ones are too
 * many.
 */
export function bufferedCheck(): AnswerCheck {
  const CLOSING_BRACE = 0x7d;
  let parsed = false;
  let pieces: Buffer[] = [];
  let last: number | undefined;
  return {
    take(bytes) {
      if (!parsed) pieces.push(Buffer.from(bytes));
      last = bytes.at(-1);
    },
    finish(status) {
      const first = pieces;
      const ended = last;
      pieces = [];
      last = undefined;
      if (status !== 200) return `status ${status}`;
      if (ended !== CLOSING_BRACE) return "body is not a JSON object";
      if (parsed) return undefined;
      if (!holdsUsage(Buffer.concat(first).toString())) return "body without usage";
      parsed = true;
      return undefined;
    },
  };
}

function holdsUsage(text: string): boolean {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null && "usage" in body;
  } catch {
    return false;
  }
}
