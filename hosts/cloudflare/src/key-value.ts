import type { KVNamespace } from "@cloudflare/workers-types";
import type { KeyValueStore } from "@inference/gateway/environment";

/**
 * Workers KV. A value may be a minute old, which its readers allow for. KV accepts one write a second for each key, and
 * many isolates write the same prices at their start, so a refused write is tried again.
 */
export function makeKeyValue(namespace: KVNamespace): KeyValueStore {
  return {
    get: (key) => namespace.get(key),
    async put(key, value, { expiresAt } = {}) {
      const options = expiresAt === undefined ? {} : { expiration: expiration(expiresAt) };
      for (let tries = 1; ; tries += 1) {
        try {
          return await namespace.put(key, value, options);
        } catch (error) {
          if (tries === MOST_TRIES) throw error;
          await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * (tries + Math.random())));
        }
      }
    },
    delete: (key) => namespace.delete(key),
    async list(prefix, limit) {
      const { keys } = await namespace.list({ prefix, limit });
      return keys.map(({ name }) => name);
    },
  };
}

const MOST_TRIES = 3;
const PAUSE_MS = 1_000;
/** KV refuses an expiration in less than a minute. The rest allows for the time of the call. */
const LEAST_S = 70;

/** In seconds since the epoch. */
function expiration(expiresAtMs: number): number {
  return Math.max(Math.ceil(expiresAtMs / 1_000), Math.ceil(Date.now() / 1_000) + LEAST_S);
}
