import type { Model, PriceSnapshot } from "@inference/protocol/model";
import { formatUsd } from "@inference/protocol/money";
import { within } from "@inference/protocol/timers";
import { joinBytes } from "../bytes.ts";
import type { UpstreamConfig } from "../config.ts";
import { type Environment, UpstreamFailure, type UpstreamResponse } from "../environment.ts";
import { parseChatOrder } from "../inference/requests/chat.ts";
import { makeOrder } from "../inference/requests/make-order.ts";
import { asObject, parseJson } from "../json-object.ts";
import { parseUsage, type UsageReading } from "../pricing/usage.ts";
import type { Provider } from "../upstream/provider.ts";

/** The parts of a gateway that the probe needs. */
export type ProbeParts = {
  upstream: UpstreamConfig;
  snapshot: PriceSnapshot;
  provider: Pick<Provider, "infer">;
} & Pick<Environment, "timers" | "log">;

/** Models that are asked, until one answers. */
const MOST_MODELS = 3;
/** For all of them: a local server may load a model first. The gateway does not listen before. */
const PROBE_MS = 30_000;
/** An answer of one token is a few hundred bytes. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** A short task of more than one token, so that a provider without a limit shows it at little cost. */
const PROMPT = "Count from 1 to 9.";

/**
 * Asks the cheapest text model for one token, as customers' requests are sent, and logs the cost.
 *
 * @returns Why customers must not be served like this, sentences with what to do. Empty also if no model answered: then
 * a warning `probe_failed` says so.
 */
export async function probeProvider(parts: ProbeParts): Promise<string[]> {
  const { snapshot, timers, log } = parts;
  const models = cheapest(snapshot.models.values());
  if (models.length === 0) return [];
  return within(timers, PROBE_MS, async (signal) => {
    for (const model of models) {
      const answer = await ask(model, parts, signal);
      if (typeof answer !== "string") return judge(model, answer, parts);
      log("warn", "probe_failed", { model: model.id, why: answer });
    }
    return [];
  });
}

type Answer = { usage: UsageReading; isCut: boolean; mostUsd: string; costUsd: string | null };

/** Text models from the cheapest. Free ones are last, because providers often refuse them while they are busy. */
function cheapest(models: Iterable<Model>): Model[] {
  const priceOf = ({ price }: Model): bigint => (price.kind === "text" ? price.rates.input + price.rates.output : 0n);
  return [...models]
    .filter(({ price }) => price.kind === "text")
    .map((model) => ({ model, price: priceOf(model) || 2n ** 127n }))
    .sort((a, b) => (a.price < b.price ? -1 : a.price > b.price ? 1 : 0))
    .slice(0, MOST_MODELS)
    .map(({ model }) => model);
}

/** Why there is no answer, if there is none. */
async function ask(
  model: Model,
  { upstream, snapshot, provider }: ProbeParts,
  signal: AbortSignal,
): Promise<Answer | string> {
  const body = { model: model.id, stream: true, max_tokens: 1, messages: [{ role: "user", content: PROMPT }] };
  const { chatExtras, chatOutputField, defaultOutputTokens } = upstream;
  const nothingSealed = { seal: () => null, open: () => null };
  const order = parseChatOrder(body, {
    ...{ snapshot, aliases: {}, user: "probe", account: "probe", reasoningSeal: nothingSealed },
    ...{ defaultOutputTokens, chatExtras, chatOutputField },
  });
  const { quote } = makeOrder(order);
  const call = { path: order.upstreamPath, body: order.upstreamBody, stream: true };
  try {
    const response = await provider.infer(call, upstream.apiKey, signal);
    const { text, isCut } = await readStart(response);
    if (response.status !== 200) return `it answered ${response.status}`;
    const usage = usageOf(text);
    if (usage === undefined) return "its stream has an error";
    const costUsd = typeof usage === "object" ? formatUsd(quote.chargeForUsage(usage)) : null;
    return { usage, isCut, mostUsd: formatUsd(quote.maxNanoUsd), costUsd };
  } catch (error) {
    if (error instanceof UpstreamFailure) return error.message;
    throw error;
  }
}

async function readStart({ body }: UpstreamResponse): Promise<{ text: string; isCut: boolean }> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) break;
  }
  return { text: new TextDecoder().decode(joinBytes(chunks)), isCut: bytes > MAX_ANSWER_BYTES };
}

/** The last usage of a stream; undefined if the stream has an error. */
function usageOf(stream: string): UsageReading | undefined {
  let usage: unknown;
  for (const line of stream.split(/\r?\n/)) {
    const event = line.startsWith("data:") ? asObject(parseJson(line.slice(5))) : undefined;
    if (event?.error !== undefined && event.error !== null) return undefined;
    usage = event?.usage ?? usage;
  }
  return parseUsage(usage);
}

function judge(model: Model, { usage, isCut, mostUsd, costUsd }: Answer, { upstream, log }: ProbeParts): string[] {
  const { id } = model;
  const tokens = typeof usage === "object" ? usage.completionTokens : null;
  log("info", "probe", { model: id, completionTokens: tokens, costUsd, mostUsd });
  const field = upstream.chatOutputField;
  if (isCut || (tokens ?? 0) > 1) {
    const other = field === "max_tokens" ? "max_completion_tokens" : "max_tokens";
    const many = tokens === null ? "much more than one token" : `${tokens} tokens`;
    return [
      `The provider answered \`${id}\` with ${many} although \`${field}\` was 1, so it ignores the output limit, and you ` +
        `would pay for output that no customer has reserved. Set UPSTREAM_OUTPUT_FIELD=${other}.`,
    ];
  }
  if (tokens !== null) return [];
  return [
    `The provider reported no usage with a stream of \`${id}\` (${usage}), so charges would be estimates. Make it report ` +
      "`usage` when `stream_options.include_usage` is true.",
  ];
}
