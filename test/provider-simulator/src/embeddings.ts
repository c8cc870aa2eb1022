import { deliverJob } from "./deliver.ts";
import { schemaError, WireError } from "./errors.ts";
import { type Exchange, providerHeaders } from "./exchange.ts";
import { falseUsage, streamShape } from "./faults.ts";
import { type Job, modelOf, planJob, run } from "./job.ts";
import { inputLines, type Usage } from "./pricing.ts";
import { countTokens } from "./tokens.ts";
import * as is from "./validate.ts";

const MAX_ITEMS = 2048;
const MAX_ESTIMATED_TOKENS = 8192;

const SCHEMA: is.Schema = new Map<string, is.Check>([
  ["model", is.textOf(1, 200)],
  ["input", inputs],
  ["encoding_format", is.oneOf("float", "base64")],
  ["dimensions", is.integer(1, 4096)],
  ["user", is.string],
]);

/** `POST /embeddings`. The answer has no cost field, and its usage only prompt tokens. */
export async function embeddings(x: Exchange, body: is.Body): Promise<void> {
  is.checkBody(body, SCHEMA, ["model", "input"]);
  const model = modelOf(x, body, "embedding");
  const texts = textsOf(body.input);
  const dimensions = dimensionsOf(body, model.seed.spec ?? {});
  const promptTokens = texts.reduce((sum, text) => sum + countTokens(text), 0);
  const usage: Usage = { promptTokens, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0, reasoningTokens: 0 };
  const lines = (units: number) => inputLines(`${model.id}-embedding-input-mtoken`, model.pricing, units);
  const job: Job = { ...planJob(x, model, texts.join("\n"), { units: promptTokens, lines }), usage: () => usage };
  const { fault } = job;
  await run(job, async () => {
    const data = texts.map((text, index) => embeddingJson(text, index, dimensions, body.encoding_format === "base64"));
    const json = `{"object":"list","model":"${model.id}","data":[${data.join(",")}]${usageField(fault, usage)}}`;
    await deliverJob(job, providerHeaders(x, "application/json; charset=utf-8", model), json);
  });
}

function usageField(fault: string | null, usage: Usage): string {
  if (streamShape(fault).usage === "none") return "";
  if (fault === "usage-null-everywhere") return ',"usage":null';
  const plain = `{"prompt_tokens":${usage.promptTokens},"total_tokens":${usage.promptTokens}}`;
  return `,"usage":${falseUsage(fault, usage) ?? plain}`;
}

function inputs(value: unknown): string | null {
  if (typeof value === "string") return textProblem(value);
  if (!Array.isArray(value)) return "Expected string or array of strings";
  if (value.length === 0) return "Array must contain at least 1 element(s)";
  if (value.some((item) => typeof item === "number" || Array.isArray(item))) {
    return "Token array inputs are not supported; send strings";
  }
  if (value.length > MAX_ITEMS) return `Array must contain at most ${MAX_ITEMS} element(s)`;
  for (const item of value) {
    const problem = typeof item === "string" ? textProblem(item) : "Expected string";
    if (problem !== null) return problem;
  }
  return null;
}

/** The provider estimates an input's tokens from its characters. */
function textProblem(text: string): string | null {
  if (text === "") return "Input cannot be an empty string";
  const estimated = Math.ceil((text.length / 3.2) * 0.95);
  return estimated > MAX_ESTIMATED_TOKENS ? `Input is too long: at most ${MAX_ESTIMATED_TOKENS} tokens` : null;
}

function textsOf(input: unknown): string[] {
  const items: unknown[] = Array.isArray(input) ? input : [input];
  return items.filter((item) => typeof item === "string");
}

function dimensionsOf(body: is.Body, spec: is.Body): number {
  const usual = is.numberField(spec, "embeddingDimensions") ?? 256;
  const wanted = is.numberField(body, "dimensions") ?? usual;
  if (wanted === usual) return wanted;
  if (spec.supportsCustomDimensions !== true) {
    throw new WireError(schemaError("dimensions", "This model does not support custom dimensions"));
  }
  if (wanted > usual) throw new WireError(schemaError("dimensions", `At most ${usual} dimensions`));
  return wanted;
}

function embeddingJson(text: string, index: number, dimensions: number, base64: boolean): string {
  const vector = vectorOf(text, dimensions);
  const value = base64
    ? `"${Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64")}"`
    : `[${vector.join(",")}]`;
  return `{"object":"embedding","index":${index},"embedding":${value}}`;
}

/** A unit vector that depends on the text only. Both encodings carry the same 32-bit floats. */
function vectorOf(text: string, dimensions: number): Float32Array {
  let state = 2_166_136_261;
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), 16_777_619) >>> 0;
  const vector = new Float32Array(dimensions);
  let square = 0;
  for (let i = 0; i < dimensions; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const value = state / 2 ** 31 - 1;
    vector[i] = value;
    square += value * value;
  }
  const length = Math.sqrt(square);
  return vector.map((value) => value / length);
}
