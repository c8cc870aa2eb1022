import type { IncomingMessage } from "node:http";
import type { Turns } from "./turns.ts";

/** A body with more chunks than this must have at least `SMALL_CHUNK_BYTES` a chunk: each chunk costs a microsecond. */
const MAX_SMALL_CHUNKS = 4096;
const SMALL_CHUNK_BYTES = 16;
/** Chunks of one turn of the event loop are passed on together, or when they have this many bytes. */
const GATHERED_BYTES = 64 * 1024;

/**
 * Passes a request's body on in few parts, and limits the bytes of all large bodies in each turn of the event loop. The
 * connection waits while a part waits.
 */
export function paceBody(incoming: IncomingMessage, turns: Turns): void {
  takeTurns(incoming, turns);
  if (incoming.headers["transfer-encoding"] !== undefined) gatherChunks(incoming);
}

function takeTurns(incoming: IncomingMessage, turns: Turns): void {
  const push = incoming.push.bind(incoming);
  let waiting: (Uint8Array | null)[] = [];

  function passWaiting(): void {
    const parts = waiting;
    waiting = [];
    for (const part of parts) pass(part);
  }

  function pass(part: Uint8Array | null): boolean {
    if (waiting.length === 0 && (part === null || turns.hasRoomFor(part.length, passWaiting))) return push(part);
    waiting.push(part);
    return false;
  }

  incoming.push = pass;
}

/**
 * Gathers the chunks of a body into few parts. Node passes on each chunk of HTTP, and a web stream takes 15
 * microseconds for each: a body of single bytes would block the event loop for a third of a second at a time. A body of
 * too many small chunks is cut off.
 */
function gatherChunks(incoming: IncomingMessage): void {
  const push = incoming.push.bind(incoming);
  let parts: Uint8Array[] = [];
  let bytes = 0;
  let chunks = 0;
  let totalBytes = 0;
  let hasRoom = true;
  let isScheduled = false;

  function flush(): void {
    isScheduled = false;
    if (parts.length === 0) return;
    const gathered = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
    parts = [];
    bytes = 0;
    hasRoom = push(gathered);
  }

  incoming.push = (chunk: Uint8Array | null): boolean => {
    if (chunk === null) {
      flush();
      return push(null);
    }
    parts.push(chunk);
    bytes += chunk.length;
    chunks += 1;
    totalBytes += chunk.length;
    if (chunks > MAX_SMALL_CHUNKS && totalBytes < chunks * SMALL_CHUNK_BYTES) {
      parts = [];
      incoming.destroy(new Error("the body comes in too many small chunks"));
      return false;
    }
    if (bytes >= GATHERED_BYTES) flush();
    else if (!isScheduled) {
      isScheduled = true;
      setImmediate(flush);
    }
    return hasRoom;
  };
}
