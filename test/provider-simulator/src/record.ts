import { nanoRoundedUp } from "./decimal.ts";
import type { Usage } from "./pricing.ts";
import { createRing } from "./ring.ts";

const CAPACITY = 200_000;
const MAX_BODY_CHARS = 1024 * 1024;
const MAX_KEPT_CHARS = 64 * 1024 * 1024;

/** What the simulator saw of one request and did with it. */
export interface RequestRecord {
  id: number;
  readonly method: string;
  readonly path: string;
  readonly receivedAtMs: number;
  finishedAtMs: number | null;
  /** The `authorization` header as it came, and whether it was the master key. */
  authorization: string | null;
  equalsMasterKey: boolean;
  keyId: string | null;
  model: string | null;
  servedModel: string | null;
  user: string | null;
  stream: boolean;
  fault: string | null;
  /** Raw header names and values by turns; null unless recording in full. */
  headers: readonly string[] | null;
  body: string | null;
  status: number | null;
  /** The id in the answer, by which the provider's usage history names this request. */
  requestId: string | null;
  unitsSent: number;
  aborted: { readonly atMs: number; readonly unitsSent: number } | null;
  /** What was really used and billed, whatever the answer said. */
  usage: Usage | null;
  billedAtto: bigint | null;
}

export interface RecordLog {
  add(record: RequestRecord): void;
  at(id: number): RequestRecord | null;
  /** Newest last; those that pass the filter, at most `limit`, counted from the newest. */
  select(filter: (record: RequestRecord) => boolean, limit: number): RequestRecord[];
  clear(): void;
}

export function createRecordLog(): RecordLog {
  const ring = createRing<RequestRecord>(CAPACITY);
  let keptChars = 0;
  let oldestBody = 0;

  const forgetBodies = (): void => {
    while (keptChars > MAX_KEPT_CHARS && oldestBody < ring.next) {
      const record = ring.at(oldestBody++);
      if (record === null) continue;
      keptChars -= sizeOf(record);
      record.body = null;
      record.headers = null;
    }
  };

  return {
    add(record) {
      if (record.body !== null && record.body.length > MAX_BODY_CHARS) record.body = null;
      const replaced = ring.at(ring.next - CAPACITY);
      if (replaced !== null && oldestBody <= ring.next - CAPACITY) keptChars -= sizeOf(replaced);
      oldestBody = Math.max(oldestBody, ring.next - CAPACITY + 1);
      record.id = ring.add(record);
      keptChars += sizeOf(record);
      forgetBodies();
    },
    at: (id) => ring.at(id),
    select(filter, limit) {
      const found: RequestRecord[] = [];
      for (let id = ring.next - 1; id >= ring.first && found.length < limit; id--) {
        const record = ring.at(id);
        if (record !== null && filter(record)) found.push(record);
      }
      return found.reverse();
    },
    clear() {
      ring.clear();
      keptChars = 0;
      oldestBody = 0;
    },
  };
}

function sizeOf(record: RequestRecord): number {
  let chars = record.body?.length ?? 0;
  for (const part of record.headers ?? []) chars += part.length;
  return chars;
}

/** As the control API shows it. */
export function recordToJson(record: RequestRecord): Record<string, unknown> {
  const { headers, body, authorization, equalsMasterKey, billedAtto, ...plain } = record;
  const pairs: [string, string][] = [];
  for (let i = 0; headers !== null && i + 1 < headers.length; i += 2)
    pairs.push([headers[i] ?? "", headers[i + 1] ?? ""]);
  return {
    ...plain,
    authorization: { raw: authorization, equalsMasterKey },
    headers: headers === null ? null : pairs,
    body: body === null ? null : parsed(body),
    rawBody: body,
    billed:
      billedAtto === null ? null : { attoUsd: billedAtto.toString(), nanoUsd: nanoRoundedUp(billedAtto).toString() },
  };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}
