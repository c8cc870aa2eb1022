import { formatDecimal } from "@inference/protocol/money";

/** `$1,234.50`: exact, with at least two places and no zeros after them. */
export function usd(nanoUsd: number | bigint): string {
  return grouped(formatDecimal(BigInt(nanoUsd), 9));
}

/** To the cent, for display only. Below a cent: the first two digits that are not zero. */
export function shortUsd(nanoUsd: number | bigint): string {
  const nano = BigInt(nanoUsd);
  const half = stepOf(nano) / 2n;
  return inSteps(nano < 0n ? nano - half : nano + half, stepOf(nano));
}

/** A used amount, to the cent, rounded up. */
export function usedUsd(nanoUsd: number | bigint): string {
  return usd(roundedUp(BigInt(nanoUsd)));
}

/**
 * A remaining amount, to the cent, rounded down: the shown amount can be spent.
 *
 * @param whole The total. The result and `usedUsd` of the rest add up to it.
 */
export function leftUsd(nanoUsd: number | bigint, whole?: number | bigint): string {
  const nano = BigInt(nanoUsd);
  if (whole !== undefined && BigInt(whole) > nano) return usd(BigInt(whole) - roundedUp(BigInt(whole) - nano));
  const step = stepOf(nano);
  return inSteps(nano < 0n ? nano - step + 1n : nano, step);
}

function roundedUp(nano: bigint): bigint {
  const step = stepOf(nano);
  return ((nano + step - 1n) / step) * step;
}

/** The nano-dollars of the last digit that is shown. */
function stepOf(nano: bigint): bigint {
  const size = nano < 0n ? -nano : nano;
  let step = 10_000_000n;
  while (size !== 0n && size < step && step > 1n) step /= 10n;
  return size < 10_000_000n && step > 1n ? step / 10n : step;
}

function inSteps(nano: bigint, step: bigint): string {
  return grouped(formatDecimal((nano / step) * step, 9));
}

/** Token units, 1e-6 dollar. */
export function tokenUsd(amountToken: bigint): string {
  return usd(amountToken * 1_000n);
}

function grouped(decimal: string): string {
  const [whole = "0", fraction = ""] = decimal.replace("-", "").split(".");
  const sign = decimal.startsWith("-") ? "-" : "";
  return `${sign}$${whole.replace(/\B(?=(\d{3})+$)/g, ",")}.${fraction.padEnd(2, "0")}`;
}

const COUNT = new Intl.NumberFormat("en-US");
export const count = (value: number): string => COUNT.format(value);

const DAY_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
export const when = (time: string | number): string => DAY_TIME.format(new Date(time));

/** `in 3 hours`, `5 minutes ago`. */
export function fromNow(time: string, now = Date.now()): string {
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

export function shortHex(text: string): string {
  return text.length > 14 ? `${text.slice(0, 6)}…${text.slice(-4)}` : text;
}
