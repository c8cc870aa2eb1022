import type { LimitReset } from "@inference/protocol/window";
import { windowWords } from "./key-sentence.ts";

/** The window of a key's limit; `none`: the key has no limit. */
export type LimitWindow = LimitReset | "lifetime" | "none";

/** The choices of a window. */
export const WINDOWS: readonly (readonly [LimitWindow, string])[] = [
  ...(["daily", "monthly", "lifetime"] as const).map((window) => [window, windowWords[window]] as const),
  ["none", "No limit"],
];
