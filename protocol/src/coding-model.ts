import { parseDecimal } from "./money.ts";

/** The part of a listed model (`GET /models`) that decides whether a coding tool can use it. */
export type ListedModel = {
  id: string;
  type: string;
  context_length: number | null;
  supported_parameters?: string[] | undefined;
  alias_of?: string | undefined;
  pricing: Readonly<Record<string, unknown>>;
};

/** A coding tool's own prompt, the files it reads and a few turns fill a smaller context window. */
export const CODING_CONTEXT_TOKENS = 128_000;

/**
 * The model for a coding tool: the cheapest with tools and {@link CODING_CONTEXT_TOKENS} of context. If no model has
 * both, one with tools comes first, then the largest context window. Undefined: no text model has a price.
 */
export function codingModel<M extends ListedModel>(models: readonly M[]): M | undefined {
  return codingModels(models)[0];
}

/** The text models that have a price, the best for a coding tool first. */
export function codingModels<M extends ListedModel>(models: readonly M[]): M[] {
  return models
    .filter(({ type, alias_of: original }) => type === "text" && original === undefined)
    .map((model) => ({ model, price: priceOf(model.pricing) }))
    .filter(({ price }) => price > 0n)
    .sort(compare)
    .map(({ model }) => model);
}

/** A coding tool's requirements that the model lacks; empty if it has all. */
export function codingGaps(model: ListedModel): string[] {
  const { context_length: context } = model;
  const size = context === null ? "unknown" : `${context.toLocaleString("en-US")} tokens`;
  return [
    ...(takesTools(model) ? [] : ["it does not take tools"]),
    ...(usefulContext(model) === CODING_CONTEXT_TOKENS ? [] : [`its context window is ${size}`]),
  ];
}

/** Why {@link codingModel} chose this model. */
export function codingChoice(model: ListedModel): string {
  const wanted = `tools and a context window of at least ${CODING_CONTEXT_TOKENS.toLocaleString("en-US")} tokens`;
  const gaps = codingGaps(model);
  return gaps.length === 0
    ? `\`${model.id}\` is the cheapest model with ${wanted}.`
    : `This gateway has no model with ${wanted}. The nearest is \`${model.id}\`: ${gaps.join(", and ")}.`;
}

type Priced = { model: ListedModel; price: bigint };

/** Orders the better model first. */
function compare(one: Priced, other: Priced): number {
  const tools = Number(takesTools(other.model)) - Number(takesTools(one.model));
  const context = usefulContext(other.model) - usefulContext(one.model);
  return tools || context || Number(one.price > other.price) - Number(one.price < other.price);
}

function takesTools({ supported_parameters: fields = [] }: ListedModel): boolean {
  return fields.includes("tools");
}

function usefulContext({ context_length: context }: ListedModel): number {
  return Math.min(context ?? 0, CODING_CONTEXT_TOKENS);
}

/** Atto-dollars of three input tokens and one output token; 0 where a price is missing. */
function priceOf({ prompt, completion }: ListedModel["pricing"]): bigint {
  const [input, output] = [prompt, completion].map((price) =>
    typeof price === "string" ? parseDecimal(price, 18) : undefined,
  );
  return input === undefined || output === undefined ? 0n : 3n * input + output;
}
