/** Alerts the operator, at most every ten minutes for each kind. */
export type Alarm<T> = (kind: string, alert: T) => void;

const REPEAT_MS = 600_000;

export function createAlarm<T = string>(options: { now(): number; onAlert(alert: T): void }): Alarm<T> {
  const toldAt = new Map<string, number>();
  return (kind, alert) => {
    const at = options.now();
    if (at - (toldAt.get(kind) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return;
    toldAt.set(kind, at);
    options.onAlert(alert);
  };
}
