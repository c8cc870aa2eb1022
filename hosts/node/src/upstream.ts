import {
  UpstreamFailure,
  type UpstreamRequest,
  type UpstreamResponse,
  type UpstreamTransport,
} from "@inference/gateway/environment";
import { type Dispatcher, errors, Pool } from "undici";

/**
 * The way to the provider: one pool of keep-alive connections. Redirects are not followed, so that the key goes nowhere
 * else. Answers are read off undici's own events, without a stream object for each.
 */
export function openUpstream(baseUrl: string): UpstreamTransport & { close(): Promise<void> } {
  const pools = new Map<string, Pool>();
  const { origin: providerOrigin } = new URL(baseUrl);

  function poolOf(origin: string): Pool {
    let pool = pools.get(origin);
    if (pool === undefined) {
      pool = makePool(origin);
      pools.set(origin, pool);
    }
    return pool;
  }

  return {
    send(request) {
      const { origin, path } = locate(request.url, providerOrigin);
      return new Promise((resolve, reject) => exchange(poolOf(origin), path, request, resolve, reject));
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()));
    },
  };
}

function makePool(origin: string): Pool {
  return new Pool(origin, {
    connections: 1024,
    pipelining: 1,
    // Whoever asks says with a signal how long it waits: the same on every host.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: 10_000 },
  });
}

function locate(url: string, providerOrigin: string): { origin: string; path: string } {
  if (url.startsWith(`${providerOrigin}/`)) return { origin: providerOrigin, path: url.slice(providerOrigin.length) };
  const { origin, pathname, search } = new URL(url);
  return { origin, path: pathname + search };
}

/** One request and its answer. The answer's body begins to be there with `resolve`. */
function exchange(
  pool: Pool,
  path: string,
  { method, headers, body, signal }: UpstreamRequest,
  resolve: (response: UpstreamResponse) => void,
  reject: (failure: UpstreamFailure) => void,
): void {
  let controller: Dispatcher.DispatchController | undefined;
  let answer: BodyQueue | undefined;
  function abort(): void {
    const givenUp = new Error("given up");
    // It may still wait for a connection: its caller need not, and it is ended before it is sent.
    if (controller === undefined) reject(new UpstreamFailure("not_sent", String(givenUp)));
    else controller.abort(givenUp);
  }
  const over = (): void => signal.removeEventListener("abort", abort);
  if (signal.aborted) {
    abort();
    return;
  }
  signal.addEventListener("abort", abort);
  pool.dispatch(
    { method, path, headers, body: body ?? null },
    {
      onRequestStart(started) {
        controller = started;
        if (signal.aborted) abort();
      },
      onResponseStart(started, status, received) {
        if (status < 200) return;
        answer = makeBodyQueue(started);
        resolve({
          status,
          header(name) {
            const value = received[name.toLowerCase()];
            return Array.isArray(value) ? (value[0] ?? null) : (value ?? null);
          },
          body: answer,
        });
      },
      onResponseData(_started, chunk) {
        answer?.push(chunk);
      },
      onResponseEnd() {
        over();
        answer?.end(undefined);
      },
      onResponseError(_started, error) {
        over();
        if (answer !== undefined) answer.end(new UpstreamFailure("body", String(error)));
        else reject(new UpstreamFailure(isBeforeSending(error) ? "not_sent" : "sent", String(error)));
      },
    },
  );
}

type BodyQueue = AsyncIterable<Uint8Array> & {
  push(chunk: Uint8Array): void;
  end(failure: UpstreamFailure | undefined): void;
};

/** Bytes that may wait for their reader before the connection is told to wait. */
const MAX_QUEUED_BYTES = 256 * 1024;

function makeBodyQueue(controller: Dispatcher.DispatchController): BodyQueue {
  const chunks: Uint8Array[] = [];
  let queued = 0;
  let ended = false;
  let failure: UpstreamFailure | undefined;
  let reader: { resolve(result: IteratorResult<Uint8Array, undefined>): void; reject(why: unknown): void } | undefined;

  /** Gives the reader that waits, if one does, what there is. */
  function serve(): void {
    if (reader === undefined) return;
    const { resolve, reject } = reader;
    const value = chunks.shift();
    if (value === undefined && !ended) return;
    reader = undefined;
    if (value === undefined) {
      if (failure === undefined) resolve({ done: true, value });
      else reject(failure);
      return;
    }
    queued -= value.length;
    if (controller.paused && queued < MAX_QUEUED_BYTES / 2) controller.resume();
    resolve({ done: false, value });
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

function isBeforeSending(error: unknown): boolean {
  if (error instanceof errors.ConnectTimeoutError) return true;
  const code = (error as { code?: unknown } | null)?.code;
  return code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN" || code === "EHOSTUNREACH";
}
