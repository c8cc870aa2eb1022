import { setTimeout as sleep } from "node:timers/promises";

/** The observations of a client outside the gateway's process: answers and refusals. */
export type Acknowledged = {
  /** `x-request-id`. */
  id: string;
  kind: "whole" | "stream";
  /** The cost that the answer named. */
  costNanoUsd: number;
};

export type Recorder = {
  acknowledged: Acknowledged[];
  /** The bytes of streams, whole or not. */
  streamedBytes: number;
  /** Refusals by error code. */
  refused: Map<string, number>;
  /** Observations that no client may make. */
  faults: string[];
};

export function makeRecorder(): Recorder {
  return { acknowledged: [], streamedBytes: 0, refused: new Map(), faults: [] };
}

/** One life of the gateway as its clients know it: `over` is set before it is killed. */
export type Life = { url: string; over: boolean };

export type Asking = {
  key: string;
  content: string;
  maxTokens: number;
  stream: boolean;
  /** Leaves a stream after this many bytes. */
  leaveAfterBytes?: number;
};

const AFTER_REFUSAL_MS = 15;

/** Asks one request after another, for as long as the gateway lives. */
export async function keepAsking(recorder: Recorder, life: Life, next: () => Asking): Promise<void> {
  while (!life.over) {
    try {
      if (!(await ask(recorder, life, next()))) await sleep(AFTER_REFUSAL_MS);
    } catch (error) {
      if (!life.over) recorder.faults.push(`a request broke off in a living gateway: ${String(error)}`);
      return;
    }
  }
}

/** Answers whether it was served. Throws if the connection broke. */
async function ask(recorder: Recorder, life: Life, asking: Asking): Promise<boolean> {
  const response = await fetch(`${life.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${asking.key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "sim-small",
      max_tokens: asking.maxTokens,
      messages: [{ role: "user", content: asking.content }],
      ...(asking.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
    }),
  });
  const id = response.headers.get("x-request-id") ?? "";
  if (response.status !== 200) {
    refuse(recorder, response.status, await response.text());
    return false;
  }
  if (asking.stream) await readStream(recorder, id, response, asking.leaveAfterBytes ?? Number.POSITIVE_INFINITY);
  else recorder.acknowledged.push({ id, kind: "whole", costNanoUsd: costIn(await response.text()) });
  return true;
}

async function readStream(recorder: Recorder, id: string, response: Response, leaveAfterBytes: number): Promise<void> {
  let text = "";
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      recorder.streamedBytes += chunk.length;
      // Leaving the loop cancels the body, and so closes the connection.
      if (text.length >= leaveAfterBytes) return;
    }
  } finally {
    // Whole is what reached its last event, whatever became of the connection after it.
    if (text.includes("data: [DONE]")) recorder.acknowledged.push({ id, kind: "stream", costNanoUsd: costIn(text) });
  }
}

function costIn(text: string): number {
  const cost = /"cost_nano_usd":(\d+)/.exec(text)?.[1];
  if (cost === undefined) throw new Error(`an answer without its cost: ${text.slice(-300)}`);
  return Number(cost);
}

const EXPECTED = new Set([
  "insufficient_balance",
  "key_limit_exceeded",
  "budget_reserved",
  "too_many_in_flight",
  "daily_cap_reached",
  "ceiling_reserved",
]);

function refuse({ refused, faults }: Recorder, status: number, text: string): void {
  const code = /"code":"(\w+)"/.exec(text)?.[1] ?? `status ${status}`;
  refused.set(code, (refused.get(code) ?? 0) + 1);
  if (!EXPECTED.has(code)) faults.push(`${status}: ${text.slice(0, 300)}`);
}
