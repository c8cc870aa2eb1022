import { limits } from "@inference/gateway/config";
import { UpstreamFailure, type UpstreamTransport } from "@inference/gateway/environment";
import { errors, Pool } from "undici";

/**
 * The way to the provider: one pool of keep-alive connections. Redirects are not followed, so that the key goes nowhere
 * else.
 */
export function openUpstream(baseUrl: string): UpstreamTransport & { close(): Promise<void> } {
  const { origin } = new URL(baseUrl);
  const pools = new Map([[origin, makePool(origin)]]);
  return {
    async send({ method, url, headers, body, signal }) {
      const { origin: target, pathname, search } = new URL(url);
      const pool = pools.get(target) ?? makePool(target);
      pools.set(target, pool);
      try {
        const response = await pool.request({
          method,
          path: pathname + search,
          headers,
          body: body ?? null,
          signal,
        });
        return {
          status: response.statusCode,
          header(name) {
            const value = response.headers[name];
            return Array.isArray(value) ? (value[0] ?? null) : (value ?? null);
          },
          body: readBody(response.body),
        };
      } catch (error) {
        throw new UpstreamFailure(isBeforeSending(error) ? "not_sent" : "sent", String(error));
      }
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
    headersTimeout: limits.upstreamHeadersMs,
    bodyTimeout: limits.upstreamIdleMs,
    connect: { timeout: 10_000 },
  });
}

async function* readBody(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw new UpstreamFailure("body", String(error));
  }
}

function isBeforeSending(error: unknown): boolean {
  if (error instanceof errors.ConnectTimeoutError) return true;
  const code = (error as { code?: unknown } | null)?.code;
  return code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN" || code === "EHOSTUNREACH";
}
