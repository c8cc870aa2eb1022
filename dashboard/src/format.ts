import { formatDecimal } from "@inference/protocol/money";
import { now as gatewayNow } from "./clock.ts";

/** `$1,234.50`: exact, with at least two places and no zeros after them. */
export function usd(nanoUsd: number | bigint): string {
  return dollars(formatDecimal(BigInt(nanoUsd), 9));
}

/** An estimate, to the cent: `$0.02`. Write "about" before it. Below a cent: the first two digits that are not zero. */
export function roughUsd(nanoUsd: number | bigint): string {
  const nano = BigInt(nanoUsd);
  let step = 10_000_000n;
  while (nano !== 0n && nano < step && step > 1n) step /= 10n;
  if (nano < 10_000_000n && step > 1n) step /= 10n;
  return usd(((nano + step / 2n) / step) * step);
}

/**
 * An exact amount in two parts: the cents, and the digits below them.
 *
 * @param places The least number of decimals, so that the points of a column align.
 */
export function partsOfUsd(nanoUsd: number | bigint, places = 2): [cents: string, rest: string] {
  const text = usd(nanoUsd);
  const point = text.indexOf(".");
  const whole = text.padEnd(point + 1 + places, "0");
  const isBelowCent = /^-?\$0\.00/.test(whole);
  return isBelowCent ? [whole, ""] : [whole.slice(0, point + 3), whole.slice(point + 3)];
}

/** The decimals that a column needs: the most that one of its amounts has. */
export function placesOf(amounts: readonly (number | bigint)[]): number {
  return Math.max(2, ...amounts.map((nano) => usd(nano).split(".")[1]?.length ?? 2));
}

/** Token units, 1e-6 dollar. */
export function tokenUsd(amountToken: bigint): string {
  return usd(amountToken * 1_000n);
}

/** A decimal as dollars, with at least so many places. */
export function dollars(decimal: string, places = 2): string {
  const [whole = "0", fraction = ""] = decimal.replace("-", "").split(".");
  const sign = decimal.startsWith("-") ? "-" : "";
  return `${sign}$${whole.replace(/\B(?=(\d{3})+$)/g, ",")}.${fraction.padEnd(places, "0")}`;
}

const COUNT = new Intl.NumberFormat("en-US");
export const count = (value: number): string => COUNT.format(value);

const [DAY, MINUTE, SECOND] = (
  [
    { day: "numeric", month: "short" },
    { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
    { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
  ] as const
).map((parts) => new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", ...parts }));
const at = (format: Intl.DateTimeFormat | undefined, time: string | number) => format?.format(new Date(time)) ?? "";

/** `17 Nov`, in UTC. */
export const day = (time: string | number): string => at(DAY, time);

/** In UTC: today `14:31:02`, in the last months `17 Nov, 09:12`, else with the year. */
export function when(time: string | number, now = gatewayNow()): string {
  const [date, today] = [time, now].map((each) => new Date(each).toISOString().slice(0, 10));
  if (date === today) return at(SECOND, time);
  const year = Math.abs(now - Date.parse(`${date}`)) < 300 * 86_400_000 ? "" : ` ${date?.slice(0, 4)}`;
  return `${day(time)}${year}, ${at(MINUTE, time)}`;
}

/** `in 3 hours`, `5 minutes ago`. */
export function fromNow(time: string, now = gatewayNow()): string {
  const seconds = Math.round((Date.parse(time) - now) / 1_000);
  const [size, unit] = UNITS.find(([size]) => Math.abs(seconds) >= size) ?? [1, "second"];
  return RELATIVE.format(Math.trunc(seconds / size), unit);
}

const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS: readonly [number, Intl.RelativeTimeFormatUnit][] = [
  [86_400, "day"],
  [3_600, "hour"],
  [60, "minute"],
];

/** `850 ms`, `1.2 s`. */
export function duration(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

export function shortHex(text: string): string {
  return text.length > 14 ? `${text.slice(0, 6)}…${text.slice(-4)}` : text;
}
