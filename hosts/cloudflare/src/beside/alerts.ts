/** The parts of Cloudflare's trace of one event that are used here. */
export type Traced = {
  scriptName?: string | null;
  outcome: string;
  logs: readonly { message: unknown }[];
};

type Bindings = { ALERT_WEBHOOK_URL: string };
export type Alert = { worker: string; event: string; [field: string]: unknown };

/**
 * A tail consumer of the gateway's Worker. It posts each log line with `"level":"alert"` to the operator's webhook, and
 * each event that the runtime ended itself, for example for its processor time.
 */
export default {
  async tail(events: readonly Traced[], { ALERT_WEBHOOK_URL: url }: Bindings): Promise<void> {
    const alerts: Alert[] = [];
    for (const alert of alertsOf(events)) if (alerts.length < MOST_ALERTS && isNew(alert)) alerts.push(alert);
    if (alerts.length === 0) return;
    try {
      await post(url, alerts);
    } catch (error) {
      for (const alert of alerts) told.delete(JSON.stringify(alert));
      throw error;
    }
  },
};

async function post(url: string, alerts: readonly Alert[]): Promise<void> {
  const text = alerts.map((alert) => `ALERT ${JSON.stringify(alert)}`).join("\n");
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    // `text` is what chats show; pagers read the list.
    body: JSON.stringify({ text, alerts }),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`the webhook answered ${response.status}`);
}

export function alertsOf(events: readonly Traced[]): Alert[] {
  return events.flatMap(({ scriptName, outcome, logs }) => {
    const worker = scriptName ?? "unknown";
    const logged = logs.flatMap(({ message }) => {
      const line = parsed(Array.isArray(message) ? message[0] : message);
      const { level, event, ...fields } = line ?? {};
      return level === "alert" ? [{ worker, event: String(event), ...fields }] : [];
    });
    return HARMLESS.has(outcome) ? logged : [...logged, { worker, event: "worker_ended", outcome }];
  });
}

function parsed(line: unknown): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(String(line));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** An isolate tells the same alert once in ten minutes, and an alert that the webhook did not take again. */
function isNew(alert: Alert): boolean {
  const key = JSON.stringify(alert);
  const now = Date.now();
  if (now - (told.get(key) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) return false;
  if (told.size >= MOST_REMEMBERED) told.clear();
  told.set(key, now);
  return true;
}

const told = new Map<string, number>();
const AGAIN_MS = 600_000;
const MOST_REMEMBERED = 1_000;
/** In one message. */
const MOST_ALERTS = 20;
/** `canceled`: the client left. */
const HARMLESS = new Set(["ok", "canceled", "responseStreamDisconnected", "unknown"]);
