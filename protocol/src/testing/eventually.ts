import { setTimeout as sleep } from "node:timers/promises";

/** Between two looks: soon at first, and rarely where much is waited for, as each look takes processor time. */
const PAUSE_MS = { first: 5, factor: 1.2, most: 200 };

/**
 * Looks again and again until that neither throws nor answers `false`, and answers what it did then. Fails as the last
 * look did. The limit is far above what any machine takes: it ends a test that would wait for ever.
 */
export async function eventually<T>(look: () => T | Promise<T>, withinMs = 300_000): Promise<Exclude<T, false>> {
  const deadline = performance.now() + withinMs;
  for (let pauseMs = PAUSE_MS.first; ; pauseMs = Math.min(pauseMs * PAUSE_MS.factor, PAUSE_MS.most)) {
    let failure: unknown;
    try {
      const found = await look();
      if (found !== false) return found as Exclude<T, false>;
      failure = new Error(`not so within ${withinMs} ms: ${look}`);
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline) throw failure;
    await sleep(pauseMs);
  }
}
