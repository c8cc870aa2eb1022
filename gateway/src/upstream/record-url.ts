export type RecordedAnswer = { upstreamId: string; admittedAt: number };

/** Allows for a difference between the clocks of gateway and provider. */
const CLOCKS_DIFFER_MS = 60_000;

/** The URL of a provider's record: `{id}` is the answer's id, `{since}` a time before its request. */
export function fillRecordUrl(template: string, { upstreamId, admittedAt }: RecordedAnswer): string {
  const since = new Date(admittedAt - CLOCKS_DIFFER_MS).toISOString();
  return template.replaceAll("{id}", encodeURIComponent(upstreamId)).replaceAll("{since}", encodeURIComponent(since));
}

/** The origin of a record URL. Null if it has none, or if the origin depends on what the template is filled with. */
export function recordOrigin(template: string): string | null {
  const origins = ["one", "two"].map((upstreamId) => {
    const url = fillRecordUrl(template, { upstreamId, admittedAt: 0 });
    return URL.canParse(url) && /^https?:/i.test(url) ? new URL(url).origin : null;
  });
  return origins[0] === origins[1] ? (origins[0] ?? null) : null;
}
