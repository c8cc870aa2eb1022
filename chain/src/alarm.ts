/** Alerts the operator, at most every ten minutes for each kind. */
export type Alarm = (kind: string, message: string) => void;

const REPEAT_MS = 600_000;

export function createAlarm(options: { now(): number; onAlert(message: string): void }): Alarm {
  const toldAt = new Map<string, number>();
  return (kind, message) => {
    const at = options.now();
    if (at - (toldAt.get(kind) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return;
    toldAt.set(kind, at);
    options.onAlert(message);
  };
}
