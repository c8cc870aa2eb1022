export type RecordedAnswer = { upstreamId: string; admittedAt: number };

/** Allows for a difference between the clocks of gateway and provider. */
const CLOCKS_DIFFER_MS = 60_000;

/** The URL of a provider's record: `{id}` is the answer's id, `{since}` a time before its request. */
export function fillRecordUrl(template: string, { upstreamId, admittedAt }: RecordedAnswer): string {
  const since = new Date(admittedAt - CLOCKS_DIFFER_MS).toISOString();
  return template.replaceAll("{id}", encodeURIComponent(upstreamId)).replaceAll("{since}", encodeURIComponent(since));
}
