/**
 * What a Worker can do for the gateway. After its client has gone it has 30 s in all, for whatever it said it waits
 * for: the provider is read for 25 of them, and the rest is for settling. And it has 128 MB, code and all.
 */
export const WORKER_LIMITS = { drainMs: 25_000, heldBodyBytes: 64 * 1024 * 1024 };
