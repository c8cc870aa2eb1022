import type { Folder } from "./folder.ts";

/** The devnet's time: the machine's plus the offset of `npm run devnet -- day`. Kept from start to start. */
export type DevnetClock = {
  /** Milliseconds since the epoch. */
  now(): number;
  readonly offsetMs: number;
  /** From now on it is `timeMs` and later. */
  set(timeMs: number): void;
};

export function openClock(folder: Folder): DevnetClock {
  let { offsetMs } = (folder.readJson("clock.json") as { offsetMs: number } | undefined) ?? { offsetMs: 0 };
  return {
    now: () => Date.now() + offsetMs,
    get offsetMs() {
      return offsetMs;
    },
    set(timeMs) {
      offsetMs = timeMs - Date.now();
      folder.writeJson("clock.json", { offsetMs });
    },
  };
}

/** For a process that is to have this time: `shifted-clock.ts`, which every child loads, reads it. */
export function clockEnvironment({ offsetMs }: Pick<DevnetClock, "offsetMs">): { DEVNET_CLOCK_OFFSET_MS: string } {
  return { DEVNET_CLOCK_OFFSET_MS: String(offsetMs) };
}
