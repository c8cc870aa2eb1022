import { attoToNanoUsdUp, formatDecimal, parseDecimal } from "@inference/protocol/money";
import type { ListedReceipt } from "@inference/sdk/spending";
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
  const { extended } = pricing as { extended?: Pricing & { above_prompt_tokens: number } };
  const rates = extended !== undefined && input > extended.above_prompt_tokens ? extended : pricing;
  const [cached, written] = [receipt.native_tokens_cached ?? 0, receipt.native_tokens_cache_write ?? 0];
  const named: [string, number, unknown][] = [
    ["Input", input - cached - written, rates.prompt],
    ["Cached input", cached, rates.input_cache_read ?? rates.prompt],
    ["Input written to the cache", written, rates.input_cache_write ?? rates.prompt],
    ["Output", output, rates.completion],
  ];
  const lines: Omit<PriceLine, "amount">[] = [];
  const amounts: bigint[] = [];
  for (const [title, quantity, price] of named) {
    const atto = typeof price === "string" ? parseDecimal(price, ATTO_DIGITS) : undefined;
    if (atto === undefined || quantity < 0) return null;
    if (quantity === 0 && title !== "Input" && title !== "Output") continue;
    lines.push({ title, quantity, price: dollars(formatDecimal(atto, ATTO_DIGITS - MILLION_DIGITS)) });
    amounts.push(BigInt(quantity) * atto);
  }
  if (attoToNanoUsdUp(amounts.reduce((sum, amount) => sum + amount, 0n)) !== receipt.charge_nano_usd) return null;
  const decimals = amounts.map((amount) => formatDecimal(amount, ATTO_DIGITS));
  // The points of the column align.
  const places = Math.max(2, ...decimals.map((decimal) => decimal.split(".")[1]?.length ?? 0));
  return lines.map((line, index) => ({ ...line, amount: dollars(decimals[index] ?? "", places) }));
}
