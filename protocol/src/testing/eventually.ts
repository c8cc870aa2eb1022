import { setTimeout as sleep } from "node:timers/promises";

/** Between two looks: soon at first, and rarely where much is waited for, as each look takes processor time. */
const PAUSE_MS = { first: 5, factor: 1.2, most: 200 };

/** Far above what any machine takes: it ends a test that would wait for ever. */
const LIMIT_MS = 300_000;

/**
 * Looks again and again until that neither throws nor answers `false`, and answers what it did then. Fails as the last
 * look did.
 */
export async function eventually<T>(look: () => T | Promise<T>): Promise<Exclude<T, false>> {
  const deadline = performance.now() + LIMIT_MS;
  for (let pauseMs = PAUSE_MS.first; ; pauseMs = Math.min(pauseMs * PAUSE_MS.factor, PAUSE_MS.most)) {
    let failure: unknown;
    try {
      const found = await look();
      if (found !== false) return found as Exclude<T, false>;
      failure = new Error(`not so within ${LIMIT_MS} ms: ${look}`);
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline) throw failure;
    await sleep(pauseMs);
  }
}
