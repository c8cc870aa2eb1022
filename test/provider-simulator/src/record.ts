import type { Usage } from "./pricing.ts";

const MAX_RECORDS = 200_000;
const MAX_BODY_CHARS = 1024 * 1024;
const MAX_KEPT_CHARS = 64 * 1024 * 1024;

/** One request and its outcome. */
export interface RequestRecord {
  readonly method: string;
  readonly path: string;
  readonly receivedAtMs: number;
  finishedAtMs: number | null;
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
  /** The id in the answer and in the provider's usage history. */
  requestId: string | null;
  unitsSent: number;
  aborted: { readonly atMs: number; readonly unitsSent: number } | null;
  /** The billed usage, whatever the answer reported. */
  usage: Usage | null;
  billedAtto: bigint | null;
}

export interface RecordLog {
  add(record: RequestRecord): void;
  /** The newest `limit` records that pass the filter, newest last. */
  select(filter: (record: RequestRecord) => boolean, limit: number): RequestRecord[];
  clear(): void;
}

/** Keeps at least the last 200,000 records, and the last 64 MiB of headers and bodies. */
export function createRecordLog(): RecordLog {
  const records: RequestRecord[] = [];
  let keptChars = 0;
  let oldestBody = 0;

  return {
    add(record) {
      if ((record.body?.length ?? 0) > MAX_BODY_CHARS) record.body = null;
      records.push(record);
      keptChars += sizeOf(record);
      for (; keptChars > MAX_KEPT_CHARS; oldestBody++) {
        const oldest = records[oldestBody];
        if (oldest === undefined) break;
        keptChars -= sizeOf(oldest);
        oldest.body = null;
        oldest.headers = null;
      }
      if (records.length < 2 * MAX_RECORDS) return;
      for (const old of records.splice(0, MAX_RECORDS)) keptChars -= sizeOf(old);
      oldestBody = Math.max(0, oldestBody - MAX_RECORDS);
    },
    select(filter, limit) {
      const found: RequestRecord[] = [];
      for (let i = records.length - 1; i >= 0 && found.length < limit; i--) {
        const record = records[i];
        if (record !== undefined && filter(record)) found.push(record);
      }
      return found.reverse();
    },
    clear() {
      records.length = 0;
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
