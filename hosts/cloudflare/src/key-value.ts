import type { KVNamespace } from "@cloudflare/workers-types";
import type { KeyValueStore } from "@inference/gateway/environment";
import { pause, resultWithin } from "@inference/protocol/timers";
import { timers } from "./timers.ts";

/**
 * Workers KV. A value may be a minute old, which its readers allow for. KV accepts one write a second for each key, so
 * a refused write is tried again. A call that does not answer fails.
 */
export function makeKeyValue(namespace: KVNamespace): KeyValueStore {
  const inTime = <T>(call: Promise<T>): Promise<T> => resultWithin(timers, ANSWER_MS, call);
  return {
    get: (key) => inTime(namespace.get(key)),
    put: (key, value, { expiresAt } = {}) => {
      const options = expiresAt === undefined ? {} : { expiration: expiration(expiresAt) };
      return inTime(tried(() => namespace.put(key, value, options)));
    },
    delete: (key) => inTime(namespace.delete(key)),
    async list(prefix, limit) {
      const { keys } = await inTime(namespace.list({ prefix, limit }));
      return keys.map(({ name }) => name);
    },
  };
}

async function tried(write: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await write();
    } catch (error) {
      if (tries === MOST_TRIES) throw error;
      await pause(timers, PAUSE_MS * (tries + Math.random()));
    }
  }
}

/** Enough for all tries of a write. */
const ANSWER_MS = 10_000;
const MOST_TRIES = 3;
const PAUSE_MS = 1_000;
/** KV refuses an expiration in less than a minute. The rest allows for the time of the call. */
const LEAST_S = 70;

/** In seconds since the epoch. */
function expiration(expiresAtMs: number): number {
  return Math.max(Math.ceil(expiresAtMs / 1_000), Math.ceil(Date.now() / 1_000) + LEAST_S);
}
