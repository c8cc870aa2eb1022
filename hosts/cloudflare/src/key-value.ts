import type { KVNamespace } from "@cloudflare/workers-types";
import type { KeyValueStore } from "@inference/gateway/environment";

/**
 * Workers KV: what it says may be a minute old, which whoever reads it allows for. It takes one write a second for each
 * key, and many isolates write the same prices when they start: a write that is refused is tried again.
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
  };
}

const MOST_TRIES = 3;
const PAUSE_MS = 1_000;
/** KV refuses to keep anything for less than a minute; a little more allows for the time the call takes. */
const LEAST_S = 70;

/** In s since the epoch. */
function expiration(expiresAtMs: number): number {
  return Math.max(Math.ceil(expiresAtMs / 1_000), Math.ceil(Date.now() / 1_000) + LEAST_S);
}
