/** Seeded answers of a provider with odd usages. Each has its cost by the rules of docs/metering.md. */

/** Dollars per million tokens. */
export type Rates = { input: number; output: number; cacheRead?: number; cacheWrite?: number };
type Part = { content?: string; usage?: unknown; beside?: object; isDone?: true };
export type OddAnswer = { isStream: boolean; kind: string; parts: readonly Part[] };

export const LIMIT = 16;

/** A number below `end`, the next of a seeded series (mulberry32). */
export function makeRandom(seed: number): (end: number) => number {
  let state = seed >>> 0;
  return (end) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % end;
  };
}

/** Ways in which a usage is odd. */
const oddities: Record<string, (usage: Usage, random: (end: number) => number) => unknown> = {
  plain: (usage) => usage,
  missing: () => undefined,
  null: () => null,
  text: (usage) => ({ ...usage, completion_tokens: String(usage.completion_tokens) }),
  list: (usage) => [usage],
  word: () => "usage",
  nulls: (usage) => ({ ...usage, prompt_tokens: null, completion_tokens: null }),
  half: ({ prompt_tokens }) => ({ prompt_tokens }),
  total: () => ({ total_tokens: 9 }),
  negative: (usage) => ({ ...usage, prompt_tokens: -1 }),
  fraction: (usage) => ({ ...usage, completion_tokens: 2.5 }),
  huge: (usage) => ({ ...usage, completion_tokens: 10 ** 15 }),
  absurd: (usage) => ({ ...usage, prompt_tokens: 2_000_000_000 }),
  above: (usage, random) => ({ ...usage, completion_tokens: LIMIT + 1 + random(50) }),
  nothing: (usage) => ({ ...usage, completion_tokens: 0 }),
  cached: (usage, random) => withPrompt(usage, { cached_tokens: random(usage.prompt_tokens + 1) }),
  overcached: (usage) => withPrompt(usage, { cached_tokens: usage.prompt_tokens + 1 }),
  overfull: (usage) => withPrompt(usage, { cached_tokens: usage.prompt_tokens, cache_write_tokens: 1 }),
  written: (usage) => withPrompt(usage, { cached_tokens: 1, cache_creation_input_tokens: usage.prompt_tokens - 1 }),
  writtenElsewhere: (usage) => withPrompt(usage, { cache_write_tokens: usage.prompt_tokens }),
  detailsOfNulls: (usage) => withPrompt(usage, { cached_tokens: null, audio_tokens: "9" }),
  detailsNull: (usage) => ({ ...usage, prompt_tokens_details: null, completion_tokens_details: null }),
  detailsList: (usage) => ({ ...usage, prompt_tokens_details: [1] }),
  reasoning: (usage) => ({ ...usage, completion_tokens_details: { reasoning_tokens: usage.completion_tokens } }),
  overthought: (usage) => ({ ...usage, completion_tokens_details: { reasoning_tokens: LIMIT + 99 } }),
  costs: (usage) => ({ ...usage, cost: 0.5, cost_details: { upstream_inference_cost: "free" }, is_byok: true }),
};
const names = Object.keys(oddities);
/** The number of kinds. */
export const ODDITIES = names.length;

type Usage = { prompt_tokens: number; completion_tokens: number };

function withPrompt(usage: Usage, prompt_tokens_details: object): object {
  return { ...usage, prompt_tokens_details };
}

/** When the usage comes. Only a stream has times. */
const times = ["last", "last", "twice", "late", "early", "each"] as const;

export function oddAnswer(index: number, random: (end: number) => number): OddAnswer {
  const isStream = random(2) === 0;
  const usage = { prompt_tokens: 1 + random(60), completion_tokens: 1 + random(LIMIT) };
  const odd = (): unknown => oddities[names[random(names.length)] ?? "plain"]?.(usage, random);
  const name = names[index % names.length] ?? "plain";
  const said = oddities[name]?.(usage, random);
  const words = Array.from({ length: 1 + random(6) }, (_, at) => `${"wörd".repeat(random(3))}${at} `);
  const beside = random(3) === 0 ? { cost: random(2) === 0 ? { usd: 0.5, diem: 0 } : "much" } : {};
  if (!isStream) return { isStream, kind: name, parts: [{ content: words.join(""), usage: said, beside }] };
  const time = times[random(times.length)] ?? "last";
  const parts: Part[] = words.map((content) => ({ content }));
  const done: Part = { isDone: true };
  const kind = `${name}, ${time}`;
  switch (time) {
    case "last":
      return { isStream, kind, parts: [...parts, { usage: said, beside }, done] };
    case "twice":
      return { isStream, kind, parts: [...parts, { usage: odd() }, { usage: said, beside }, done] };
    case "late":
      return { isStream, kind, parts: [...parts, done, { usage: said, beside }] };
    case "early":
      return { isStream, kind, parts: [{ usage: said }, ...parts, done] };
    case "each":
      return { isStream, kind, parts: [...parts.map((part) => ({ ...part, usage: said })), done] };
  }
}

/** The answer as the provider sends it. */
export function writeAnswer({ isStream, parts }: OddAnswer): { type: string; body: string } {
  const head = { id: "chatcmpl-odd", created: 1, model: "m" };
  if (!isStream) {
    const [{ content, usage, beside } = {}] = parts;
    const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
    const body = JSON.stringify({ ...head, object: "chat.completion", choices, usage, ...beside });
    return { type: "application/json", body };
  }
  const events = parts.map(({ content, usage, beside, isDone }) => {
    if (isDone) return "[DONE]";
    const choices = content === undefined ? [] : [{ index: 0, delta: { content }, finish_reason: null }];
    return JSON.stringify({ ...head, object: "chat.completion.chunk", choices, usage, ...beside });
  });
  return { type: "text/event-stream", body: events.map((event) => `data: ${event}\n\n`).join("") };
}

type Sent = { bytes: number; messages: number; contextTokens: number };
type Tokens = { prompt: number; completion: number; read: number; write: number };

/** The hold and the charge of a request in nano-dollars, computed here from the documents alone. */
export function costOf({ parts }: OddAnswer, sent: Sent, rates: Rates): { heldNanoUsd: number; chargeNanoUsd: number } {
  const bound = Math.min(sent.bytes + 32 * sent.messages + 256, sent.contextTokens);
  const dearest = Math.max(rates.input, rates.cacheRead ?? 0, rates.cacheWrite ?? 0);
  const heldNanoUsd = nano([bound, dearest], [LIMIT, rates.output]);
  let [events, bytes] = [0, 0];
  let last: Tokens | "none" | "wrong" = "none";
  let least = 0;
  for (const { content, usage, isDone } of parts) {
    if (isDone) break;
    if (content !== undefined) {
      events += 1;
      bytes += new TextEncoder().encode(content).length;
      if (typeof last === "object") least = priceOf(last, rates);
      last = "none";
    }
    const read = tokensOf(usage, { prompt: bound, hasContent: bytes > 0 });
    if (read !== "none") last = read;
  }
  const estimate = nano([bound, dearest], [Math.max(events, Math.ceil(bytes / 3)), rates.output]);
  const owed = typeof last === "object" ? priceOf(last, rates) : Math.max(estimate, least);
  return { heldNanoUsd, chargeNanoUsd: Math.min(heldNanoUsd, owed) };
}

/** The sum of tokens by their prices, rounded up to the nano-dollar. A price has at most four places. */
function nano(...terms: [tokens: number, usdPerMillion: number][]): number {
  const sum = terms.reduce((all, [tokens, usd]) => all + BigInt(tokens) * BigInt(Math.round(usd * 10_000)), 0n);
  // A dollar per million tokens is a thousand nano-dollars per token.
  return Number((sum * 1_000n + 9_999n) / 10_000n);
}

function priceOf({ prompt, completion, read, write }: Tokens, rates: Rates): number {
  return nano(
    [prompt - read - write, rates.input],
    [read, rates.cacheRead ?? rates.input],
    [write, rates.cacheWrite ?? rates.input],
    [completion, rates.output],
  );
}

function tokensOf(said: unknown, bound: { prompt: number; hasContent: boolean }): Tokens | "none" | "wrong" {
  if (said === undefined || said === null) return "none";
  if (typeof said !== "object" || Array.isArray(said)) return "wrong";
  const usage = said as Record<string, unknown>;
  if ((usage.prompt_tokens ?? usage.completion_tokens ?? null) === null) return "none";
  const [ofPrompt, ofCompletion] = [usage.prompt_tokens_details ?? {}, usage.completion_tokens_details ?? {}];
  if (Array.isArray(ofPrompt) || Array.isArray(ofCompletion)) return "wrong";
  const details = { ...(ofPrompt as object), ...(ofCompletion as object) } as Record<string, unknown>;
  const [prompt, completion, read, write, reasoning] = [
    usage.prompt_tokens,
    usage.completion_tokens,
    details.cached_tokens ?? 0,
    details.cache_creation_input_tokens ?? details.cache_write_tokens ?? 0,
    details.reasoning_tokens ?? 0,
  ] as [number, number, number, number, number];
  if (![prompt, completion, read, write, reasoning].every((count) => Number.isSafeInteger(count) && count >= 0)) {
    return "wrong";
  }
  if (read + write > prompt || reasoning > completion || (completion === 0 && bound.hasContent)) return "wrong";
  const isAbsurd = prompt > bound.prompt * 16 + 1_000_000 || completion > LIMIT * 16 + 1_000_000;
  return isAbsurd ? "wrong" : { prompt, completion, read, write };
}
