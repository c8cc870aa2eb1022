/** The gateway's clock, as its last status told it: days, limits and expiries are its own. Until then the browser's. */
let offsetMs = 0;

export function followClock(time: string): void {
  offsetMs = Date.parse(time) - Date.now();
}

export const now = (): number => Date.now() + offsetMs;
