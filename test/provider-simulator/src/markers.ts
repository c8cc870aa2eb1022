/**
 * A marker is `[[name]]` or `[[name=value]]` anywhere in the request's text. It stays part of the text: it is counted
 * and billed like any other characters. The last marker of a name wins.
 */
export type Markers = ReadonlyMap<string, string>;

const NONE: Markers = new Map();
const MARKER = /\[\[([a-z][a-z0-9_-]*)(?:=([^\]\n]{0,200}))?\]\]/g;

export function readMarkers(text: string): Markers {
  if (!text.includes("[[")) return NONE;
  const found = new Map<string, string>();
  for (const match of text.matchAll(MARKER)) found.set(match[1] ?? "", match[2] ?? "");
  return found;
}

/** A whole number of zero or more, or null when the marker is absent or says anything else. */
export function markerNumber(markers: Markers, name: string): number | null {
  const value = markers.get(name);
  return value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) : null;
}
