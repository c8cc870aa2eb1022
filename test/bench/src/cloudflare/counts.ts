/** The use of a run, in Cloudflare's units. */
export type Counts = {
  workerRequests: number;
  /** Calls from afar and alarms, by the kind of object and what was called. */
  objectRequests: Record<string, number>;
  /** By table, as SQLite's own cursors count them; a set alarm is a row written. */
  rowsRead: Record<string, number>;
  rowsWritten: Record<string, number>;
  keyValueReads: number;
  keyValueWrites: number;
  /** How long objects of a kind were at work, from a call's arrival until its reply, calls at once counted once. */
  activeMs: Record<string, number>;
};

export function noCounts(): Counts {
  return {
    workerRequests: 0,
    objectRequests: {},
    rowsRead: {},
    rowsWritten: {},
    keyValueReads: 0,
    keyValueWrites: 0,
    activeMs: {},
  };
}

export function add(to: Record<string, number>, name: string, more: number): void {
  if (more !== 0) to[name] = (to[name] ?? 0) + more;
}

export function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
