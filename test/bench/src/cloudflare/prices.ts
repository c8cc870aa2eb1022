/**
 * Cloudflare's prices on the Workers paid plan beyond what it includes, in dollars for a million, as quoted in
 * `docs/decisions/0061-what-cloudflare-costs.md`. They are Cloudflare's to change.
 */
export const usdPerMillion = {
  workerRequests: 0.3,
  cpuMs: 0.02,
  objectRequests: 0.15,
  objectGbSeconds: 12.5,
  rowsRead: 0.001,
  rowsWritten: 1,
  keyValueReads: 0.5,
  keyValueWrites: 5,
} as const;

export type Unit = keyof typeof usdPerMillion;
/** How much of each unit something uses. */
export type Usage = Readonly<Record<Unit, number>>;

/** The memory that an active object is billed for. Its use does not matter. */
export const objectGb = 0.128;

/** The price of a million requests with this use each. */
export function usdOfMillion(perRequest: Usage): number {
  const units = Object.keys(usdPerMillion) as Unit[];
  return units.reduce((usd, unit) => usd + perRequest[unit] * usdPerMillion[unit], 0);
}
