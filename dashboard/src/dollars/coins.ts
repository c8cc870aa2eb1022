import { formatDecimal } from "@inference/protocol/money";

/** An estimate in coins, rounded up to two digits: `0.00013`. @param wei In 1e-18 coin. */
export function aboutCoins(wei: bigint): string {
  let step = 1n;
  while (wei / step >= 100n) step *= 10n;
  return formatDecimal(((wei + step - 1n) / step) * step, 18);
}
