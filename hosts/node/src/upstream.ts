import { joinBytes } from "@inference/gateway/bytes";
import {
  UpstreamFailure,
  type UpstreamRequest,
  type UpstreamResponse,
  type UpstreamTransport,
} from "@inference/gateway/environment";
import { ownValue } from "@inference/protocol/own-value";
import type { Dispatcher } from "undici";
import {
  type Connections,
  MAX_PROVIDER_CONNECTIONS,
  openConnections,
  type ResponseHandler,
} from "./provider-connections.ts";
import { BYTES_A_TURN, makeTurns, type Turns } from "./turns.ts";

/**
 * Sends requests to the provider over keep-alive connections. Redirects are not followed, so that the key is sent to no
 * other host. Answers are read from undici's events, without a stream object for each.
 */
export function openUpstream(baseUrl: string): UpstreamTransport & { close(): Promise<void> } {
  const turns = makeTurns(BYTES_A_TURN);
  const byOrigin = new Map<string, Connections>();
  const { origin: providerOrigin } = new URL(baseUrl);

  function connectionsTo(origin: string): Connections {
    let connections = byOrigin.get(origin);
    if (connections === undefined) {
      connections = openConnections(origin);
      byOrigin.set(origin, connections);
    }
    return connections;
  }

  return {
    send(request) {
      const { origin, path } = locate(request.url, providerOrigin);
      return new Promise((resolve, reject) => exchange(connectionsTo(origin), turns, path, request, resolve, reject));
    },
    async close() {
      await Promise.all([...byOrigin.values()].map((connections) => connections.close()));
    },
  };
}

function locate(url: string, providerOrigin: string): { origin: string; path: string } {
  if (url.startsWith(`${providerOrigin}/`)) return { origin: providerOrigin, path: url.slice(providerOrigin.length) };
  const { origin, pathname, search } = new URL(url);
  return { origin, path: pathname + search };
}

/** Sends one request. Calls `resolve` when the answer's headers have arrived. */
function exchange(
  connections: Connections,
  turns: Turns,
  path: string,
  { method, headers, body, signal }: UpstreamRequest,
  resolve: (response: UpstreamResponse) => void,
  reject: (failure: UpstreamFailure) => void,
): void {
  let controller: Dispatcher.DispatchController | undefined;
  let answer: BodyQueue | undefined;
  function abort(): void {
    const givenUp = new Error("given up");
    // It waits for a connection. It is rejected now, and aborted before it is sent.
    if (controller === undefined) reject(new UpstreamFailure("not_sent", String(givenUp)));
    else controller.abort(givenUp);
  }
  const over = (): void => signal.removeEventListener("abort", abort);
  if (signal.aborted) {
    abort();
    return;
  }
  signal.addEventListener("abort", abort);
  const handler: ResponseHandler = {
    onStart(started) {
      controller = started;
      if (signal.aborted) abort();
    },
    onHeaders(started, status, received) {
      answer = makeBodyQueue(started, turns);
      resolve({
        status,
        header(name) {
          const value = ownValue(received, name.toLowerCase());
          return Array.isArray(value) ? (value[0] ?? null) : (value ?? null);
        },
        body: answer,
      });
    },
    onData: (chunk) => answer?.push(chunk),
    onEnd() {
      over();
      answer?.end(undefined);
    },
    onError(error) {
      over();
      if (answer !== undefined) answer.end(new UpstreamFailure("body", String(error)));
      // Without a controller there was no connection, so no byte of the request was sent.
      else reject(new UpstreamFailure(controller === undefined ? "not_sent" : "sent", String(error)));
    },
  };
  if (!connections.dispatch({ method, path, headers, body: body ?? null }, handler)) {
    over();
    const why = `all ${MAX_PROVIDER_CONNECTIONS} connections to the provider are in use`;
    reject(new UpstreamFailure("not_sent", why));
  }
}

type BodyQueue = AsyncIterable<Uint8Array> & {
  push(chunk: Uint8Array): void;
  end(failure: UpstreamFailure | undefined): void;
};

/** Bytes that may wait for their reader before the connection is paused. */
const MAX_QUEUED_BYTES = 128 * 1024;

/** Chunks below the first size are joined up to the second. A larger chunk costs less by itself than its copy. */
const SMALL_CHUNK_BYTES = 4 * 1024;
const JOINED_BYTES = 64 * 1024;

/** How many of the first chunks are read at once. */
function nextChunks(chunks: readonly Uint8Array[]): { count: number; bytes: number } {
  let count = 0;
  let bytes = 0;
  for (const { length } of chunks) {
    if (count > 0 && (length >= SMALL_CHUNK_BYTES || bytes + length > JOINED_BYTES)) break;
    count += 1;
    bytes += length;
    if (length >= SMALL_CHUNK_BYTES) break;
  }
  return { count, bytes };
}

function makeBodyQueue(controller: Dispatcher.DispatchController, turns: Turns): BodyQueue {
  const chunks: Uint8Array[] = [];
  let queued = 0;
  let ended = false;
  let waits = false;
  let failure: UpstreamFailure | undefined;
  let reader: { resolve(result: IteratorResult<Uint8Array, undefined>): void; reject(why: unknown): void } | undefined;

  /** Gives the next chunks to the waiting reader, as one: each part of an answer costs it more than its bytes. */
  function serve(): void {
    if (reader === undefined || waits || (queued === 0 && !ended)) return;
    const { count, bytes } = nextChunks(chunks);
    if (count > 0 && !turns.hasRoomFor(bytes, nextTurn)) {
      waits = true;
      return;
    }
    const { resolve, reject } = reader;
    reader = undefined;
    if (count === 0) {
      if (failure === undefined) resolve({ done: true, value: undefined });
      else reject(failure);
      return;
    }
    queued -= bytes;
    if (controller.paused && queued < MAX_QUEUED_BYTES / 2) controller.resume();
    resolve({ done: false, value: joinBytes(chunks.splice(0, count)) });
  }

  function nextTurn(): void {
    waits = false;
    serve();
  }

  const iterator: AsyncIterator<Uint8Array, undefined> = {
    next: () =>
      new Promise((resolve, reject) => {
        reader = { resolve, reject };
        serve();
      }),
    async return() {
      if (!ended) controller.abort(new Error("not wanted any more"));
      return { done: true, value: undefined };
    },
  };
  return {
    [Symbol.asyncIterator]: () => iterator,
    push(chunk) {
      if (chunk.length === 0) return;
      chunks.push(chunk);
      queued += chunk.length;
      serve();
      if (queued > MAX_QUEUED_BYTES && !controller.paused) controller.pause();
    },
    end(why) {
      ended = true;
      failure = why;
      serve();
    },
  };
}
