import { attoToNanoUsdUp, formatDecimal } from "@inference/protocol/money";
import type { ListedReceipt } from "@inference/sdk/spending";
import { tokenRates } from "@inference/sdk/verify/usage-cost";
import { dollars } from "../format.ts";

type Pricing = Readonly<Record<string, unknown>>;
/** `quantity` x `price` per million is `amount`. Price and amount are exact dollars. */
type PriceLine = { title: string; quantity: number; price: string; amount: string };

const ATTO_DIGITS = 18;
const MILLION_DIGITS = 6;

/**
 * The lines of a receipt at the prices of its snapshot. Null: the charge is not the sum of such lines, because the
 * prices are of another kind, or something else was charged than the provider's count.
 */
export function priceLines(receipt: ListedReceipt, pricing: Pricing): PriceLine[] | null {
  const { tokens_prompt: input, tokens_completion: output } = receipt;
  if (input === null || output === null || receipt.basis !== "usage") return null;
  const rates = tokenRates(pricing, input);
  if (rates === undefined) return null;
  const [cached, written] = [receipt.native_tokens_cached ?? 0, receipt.native_tokens_cache_write ?? 0];
  const named: [string, number, bigint][] = [
    ["Input", input - cached - written, rates.input],
    ["Cached input", cached, rates.cached],
    ["Input written to the cache", written, rates.written],
    ["Output", output, rates.output],
  ];
  const used = named.filter(([title, quantity]) => quantity !== 0 || title === "Input" || title === "Output");
  if (used.some(([, quantity]) => quantity < 0)) return null;
  const amounts = used.map(([, quantity, atto]) => BigInt(quantity) * atto);
  if (attoToNanoUsdUp(amounts.reduce((sum, amount) => sum + amount, 0n)) !== receipt.charge_nano_usd) return null;
  const decimals = amounts.map((amount) => formatDecimal(amount, ATTO_DIGITS));
  // The points of the column align.
  const places = Math.max(2, ...decimals.map((decimal) => decimal.split(".")[1]?.length ?? 0));
  return used.map(([title, quantity, atto], index) => {
    const price = dollars(formatDecimal(atto, ATTO_DIGITS - MILLION_DIGITS));
    return { title, quantity, price, amount: dollars(decimals[index] ?? "", places) };
  });
}
