/** A time as ISO 8601 in UTC; null if there is none. */
export function isoOrNull(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}
