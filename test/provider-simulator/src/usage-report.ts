import type { Bill } from "./billing.ts";
import { usdFromAtto } from "./decimal.ts";
import type { Usage } from "./pricing.ts";
import type { Settings } from "./settings.ts";

/** The `usage` object of an answer, as JSON text. */
export function usageJson(usage: Usage, withCache: boolean): string {
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage;
  let json = counts(promptTokens, completionTokens, promptTokens + completionTokens);
  if (withCache || cachedTokens > 0 || cacheWriteTokens > 0) {
    json += `,"prompt_tokens_details":{"cached_tokens":${cachedTokens},"cache_creation_input_tokens":${cacheWriteTokens}}`;
  }
  if (reasoningTokens > 0) json += `,"completion_tokens_details":{"reasoning_tokens":${reasoningTokens}}`;
  return `{${json}}`;
}

function counts(prompt: number | string, completion: number | string, sum: number | string): string {
  return `"prompt_tokens":${prompt},"completion_tokens":${completion},"total_tokens":${sum}`;
}

/** What a usage fault reports in place of the true usage; null when the fault is another one. */
export function faultyUsageJson(fault: string | null, usage: Usage): string | null {
  const { promptTokens: prompt, completionTokens: completion } = usage;
  switch (fault) {
    case "usage-negative":
      return `{${counts(-prompt, -completion, -prompt - completion)}}`;
    case "usage-fractional":
      return `{${counts(`${prompt}.5`, `${completion}.25`, `${prompt + completion}.75`)}}`;
    case "usage-text":
    case "usage-worsens":
      return `{${counts(`"${prompt}"`, `"${completion}"`, `"${prompt + completion}"`)}}`;
    case "usage-nan":
      return `{${counts('"NaN"', '"NaN"', '"NaN"')}}`;
    case "usage-absurd":
      return `{${counts(prompt, "9007199254740993", "9007199254740993")}}`;
    case "usage-int32":
      return `{${counts(prompt, 2_147_483_647, 2_147_483_647 + prompt)}}`;
    case "usage-1e400":
      return `{${counts(prompt, "1e400", "1e400")}}`;
    case "usage-zeros":
      return `{${counts(0, 0, 0)}}`;
    case "usage-total-only":
      return `{"total_tokens":${prompt + completion}}`;
    case "usage-subcounts":
      return `{${counts(prompt, completion, prompt + completion)},"prompt_tokens_details":{"cached_tokens":${prompt + 1000},"cache_creation_input_tokens":${prompt + 1}},"completion_tokens_details":{"reasoning_tokens":${completion + 1000}}}`;
    default:
      return null;
  }
}

/** `,"cost":{...}` split by the currency that paid, or nothing. */
export function costJson(bill: Bill, mode: Settings["costField"]): string {
  if (mode === "absent") return "";
  if (mode === "zero") return ',"cost":{"usd":0,"diem":0}';
  return `,"cost":{"usd":${usdFromAtto(bill.usdAtto)},"diem":${usdFromAtto(bill.diemAtto)}}`;
}
