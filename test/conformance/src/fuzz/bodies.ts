import fc from "fast-check";
import { messages, responses } from "./other-apis.ts";

/** Bodies that the paid routes take, of every field that is documented, with values of all its range. */
const text = fc.oneof(
  fc.string({ minLength: 1, maxLength: 40 }),
  fc.string({ minLength: 1, maxLength: 20, unit: "grapheme" }),
  fc.string({ minLength: 1, maxLength: 20, unit: "binary" }),
);
const name = fc.stringMatching(/^[a-z_]{1,12}$/);
const parameters = fc.constantFrom(
  { type: "object", properties: { text: { type: "string" } } },
  { type: "object" },
  {},
);

const parts = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant("text"), text }),
    fc.constant({ type: "image_url", image_url: { url: "https://example.com/image.png", detail: "low" } }),
  ),
  { minLength: 1, maxLength: 3 },
);
const call = fc.record({
  id: name,
  type: fc.constant("function"),
  function: fc.record({ name, arguments: fc.constantFrom("{}", '{"text":"a"}', "no json") }),
});
const message = fc.oneof(
  fc.record({ role: fc.constantFrom("system", "developer", "user"), content: text }),
  fc.record({ role: fc.constant("user"), content: parts }),
  fc.record({ role: fc.constant("assistant"), content: fc.option(text), tool_calls: fc.array(call, { maxLength: 2 }) }),
  fc.record({ role: fc.constant("tool"), content: text, tool_call_id: name }),
);

const chat = fc.record(
  {
    model: fc.constantFrom(
      "sim-small",
      "sim-large",
      "sim-cached",
      "sim-free",
      "sim-fine",
      "sim-noisy",
      "sim-tiny-context",
    ),
    messages: fc.array(message, { minLength: 1, maxLength: 4 }),
    max_tokens: fc.integer({ min: 1, max: 64 }),
    n: fc.integer({ min: 1, max: 3 }),
    stream: fc.boolean(),
    stream_options: fc.record({ include_usage: fc.boolean() }),
    temperature: fc.double({ min: 0, max: 2, noNaN: true }),
    top_p: fc.double({ min: 0, max: 1, noNaN: true }),
    presence_penalty: fc.integer({ min: -2, max: 2 }),
    seed: fc.integer(),
    stop: fc.oneof(text, fc.array(text, { minLength: 1, maxLength: 4 })),
    response_format: fc.constantFrom({ type: "text" }, { type: "json_object" }),
    tools: fc.array(fc.record({ type: fc.constant("function"), function: fc.record({ name, parameters }) }), {
      minLength: 1,
      maxLength: 3,
    }),
    tool_choice: fc.constantFrom("auto", "none", "required"),
    reasoning_effort: fc.constantFrom("low", "medium", "high"),
    user: text,
    metadata: fc.dictionary(name, text, { maxKeys: 3 }),
    store: fc.constant(false),
  },
  { requiredKeys: ["model", "messages", "max_tokens"] },
);

const embeddings = fc.record(
  {
    model: fc.constantFrom("sim-embedding", "sim-embedding-wide"),
    input: fc.oneof(text, fc.array(text, { minLength: 1, maxLength: 5 })),
    encoding_format: fc.constantFrom("float", "base64"),
    dimensions: fc.integer({ min: 1, max: 1024 }),
    user: text,
  },
  { requiredKeys: ["model", "input"] },
);

const images = fc.record(
  {
    model: fc.constantFrom("sim-image", "sim-image-sizes", "sim-image-quality"),
    prompt: text,
    n: fc.constant(1),
    size: fc.constantFrom("auto", "256x256", "512x512", "1024x1024"),
    response_format: fc.constantFrom("b64_json", "url"),
    quality: fc.constantFrom("auto", "high", "standard"),
  },
  { requiredKeys: ["model", "prompt"] },
);

const imageGenerate = fc.record(
  {
    model: fc.constantFrom("sim-image", "sim-image-sizes", "sim-image-quality"),
    prompt: text,
    variants: fc.integer({ min: 1, max: 4 }),
    resolution: fc.constantFrom("1K", "2K"),
    quality: fc.constantFrom("low", "medium", "high"),
    format: fc.constantFrom("jpeg", "png", "webp"),
    return_binary: fc.boolean(),
    steps: fc.integer({ min: 1, max: 50 }),
    seed: fc.integer(),
  },
  { requiredKeys: ["model", "prompt"] },
);

const speech = fc.record(
  {
    model: fc.constantFrom("sim-speech", "sim-speech-hd"),
    input: text,
    voice: fc.constantFrom("af_sky", "nova"),
    response_format: fc.constantFrom("mp3", "wav", "pcm"),
    speed: fc.double({ min: 0.25, max: 4, noNaN: true }),
    streaming: fc.boolean(),
  },
  { requiredKeys: ["model", "input"] },
);

/** A paid path below the prefix, and a body for it. */
export const paidRequest: fc.Arbitrary<[path: string, body: object]> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant("/chat/completions"), chat) },
  { weight: 4, arbitrary: fc.tuple(fc.constant("/responses"), responses) },
  { weight: 4, arbitrary: fc.tuple(fc.constant("/messages"), messages) },
  { weight: 2, arbitrary: fc.tuple(fc.constant("/embeddings"), embeddings) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("/images/generations"), images) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("/image/generate"), imageGenerate) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("/audio/speech"), speech) },
);

/** Values that a field may not expect. */
const odd: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -0,
    -1,
    1.5,
    2 ** 31,
    2 ** 53,
    1e308,
    -1e-9,
    "",
    "100",
    "null",
    [],
    {},
  ),
  fc.constantFrom<unknown>("\u0000", "\ud800", "__proto__", "sim-unpriced", "sim-dear", "SIM-SMALL", "sim-small ", [
    [],
  ]),
  fc.constantFrom(128, 10_000).map((length) => "a".repeat(length)),
  fc.constantFrom(33, 100).map((depth) => JSON.parse("[".repeat(depth) + "]".repeat(depth)) as unknown),
  fc.jsonValue({ maxDepth: 2 }),
);

/** A body with one of its values, at any depth, replaced, removed or joined by another. */
export function spoiled(body: object): fc.Arbitrary<unknown> {
  const places = placesIn(body);
  return fc
    .tuple(fc.constantFrom(...places), fc.constantFrom("replace", "remove", "join"), odd, fc.oneof(name, fc.string()))
    .map(([place, action, value, key]) => {
      const copy = structuredClone({ body }) as Record<string, unknown>;
      const parent = place.slice(0, -1).reduce((at: Record<string, unknown>, step) => at[step] as never, copy);
      const last = place.at(-1) ?? "body";
      const found = parent[last];
      if (action === "replace") parent[last] = value;
      else if (action === "remove") delete parent[last];
      else if (Array.isArray(found)) found.push(value);
      else if (typeof found === "object" && found !== null) Object.assign(found, { [key]: value });
      else if (Array.isArray(parent)) parent.push(value);
      else parent[key] = value;
      return copy.body;
    });
}

function placesIn(value: unknown, path: readonly string[] = ["body"]): (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => placesIn(inner, [...path, key]))];
}
