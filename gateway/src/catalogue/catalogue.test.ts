import assert from "node:assert/strict";
import { test } from "node:test";
import type { Model } from "@inference/protocol/model";
import { cents } from "../../test/metering/prices.ts";
import { type Catalogue, parseCatalogue } from "./catalogue.ts";
import { CatalogueError } from "./catalogue-error.ts";

const NANO = 1_000_000_000n;
const AT = Date.UTC(2026, 10, 21);

function row(id: string, type: string, pricing: object | undefined, spec: object = {}): object {
  return { id, type, object: "model", created: 5, owned_by: "o", model_spec: { ...(pricing && { pricing }), ...spec } };
}

function read(...data: unknown[]): Catalogue {
  return parseCatalogue(JSON.stringify({ object: "list", data }), { atMs: AT });
}

function only(catalogue: Catalogue): Model {
  const [model] = catalogue.snapshot.models.values();
  assert.deepEqual(catalogue.leftOut, []);
  assert.ok(model !== undefined && catalogue.snapshot.models.size === 1);
  return model;
}

function reason(...data: unknown[]): string {
  const { snapshot, leftOut } = read(...data);
  assert.equal(snapshot.models.size, 0);
  return leftOut[0]?.reason ?? "";
}

const text = { input: { usd: 1.54, diem: 9 }, output: { usd: 4.84 } };

test("a text model's prices are dollars per million tokens, exact, with its cache and its extended rates", () => {
  const extended = { context_token_threshold: 200_000, input: { usd: 3 }, output: { usd: 9 }, cache_input: { usd: 1 } };
  const pricing = { ...text, cache_input: { usd: 0.29 }, cache_write: { usd: 1.925 }, extended };
  const spec = { availableContextTokens: 262_144, maxCompletionTokens: 32_768, capabilities: { supportsVision: true } };
  const model = only(read(row("t", "text", pricing, spec)));
  assert.deepEqual(model, {
    id: "t",
    created: 5,
    ownedBy: "o",
    price: {
      kind: "text",
      rates: { input: cents(154), output: cents(484), cacheRead: cents(29), cacheWrite: cents(1925) / 10n },
      extended: {
        thresholdTokens: 200_000,
        rates: { input: cents(300), output: cents(900), cacheRead: cents(100) },
      },
    },
    contextTokens: 262_144,
    maxOutputTokens: 32_768,
    features: { supportsVision: true },
  });
});

test("a price with the noise of a float is the decimal that was meant, the finest price stays exact, zero is a price", () => {
  const prices = { input: { usd: 0.009200000000000002 }, output: { usd: 0.26666667 }, cache_input: { usd: 0 } };
  const { price } = only(read(row("t", "text", prices)));
  assert.ok(price.kind === "text");
  assert.deepEqual(price.rates, { input: 9_200n * 10n ** 6n, output: 26_666_667n * 10n ** 4n, cacheRead: 0n });
  const free = only(read(row("t", "text", { input: { usd: 0 }, output: { usd: 0 } })));
  assert.ok(free.price.kind === "text" && free.price.rates.output === 0n);
});

test("speech has the same field as text, and it means characters", () => {
  const spec = { voices: ["a", "b"], default_voice: "a", supported_formats: ["mp3"], default_format: "mp3" };
  const model = only(read(row("s", "tts", { input: { usd: 3.5 } }, spec)));
  assert.deepEqual(model.price, { kind: "speech", character: 3500n * NANO });
  assert.deepEqual(model.features, { voices: ["a", "b"], defaultVoice: "a", formats: ["mp3"], defaultFormat: "mp3" });
});

test("a transcription has a price per second of audio", () => {
  const pricing = { per_audio_second: { usd: 0.000031480000000000004 } };
  assert.deepEqual(only(read(row("a", "asr", pricing))).price, { kind: "transcription", second: 31_480n * NANO });
});

test("an edit has the price of one input image in each of its prices, and upscaling a price by factor", () => {
  const usd = (amount: number) => ({ usd: amount });
  const images = { included: 0, additional: usd(0.0115) };
  const sizes = { inpaint: usd(0.07), resolutions: { "1K": usd(0.07) }, quality: { "1K": { low: usd(0.05) } } };
  const cents = 10_000_000n * NANO;
  const price = (pricing: object, type = "inpaint") => only(read(row("e", type, pricing))).price;
  assert.deepEqual(price({ inpaint: usd(0.04) }), { kind: "edit", byResolution: { "*": 4n * cents } });
  assert.deepEqual(price({ ...sizes, inputImages: images }), {
    kind: "edit",
    byResolution: { "1K": (815n * cents) / 100n },
    byQuality: { "1K": { low: (615n * cents) / 100n } },
  });
  assert.deepEqual(price({ inpaint: usd(0.04), inputImages: { ...images, included: 1 } }), {
    kind: "edit",
    byResolution: { "*": 4n * cents },
  });
  assert.match(
    reason(row("e", "inpaint", { inpaint: usd(0.04), inputImages: { included: 0 } })),
    /no price additional/,
  );
  const table = { generation: usd(0.01), upscale: { "2x": usd(0.02), "4x": usd(0.08) } };
  assert.deepEqual(price(table, "upscale"), { kind: "upscale", byResolution: { "2x": 2n * cents, "4x": 8n * cents } });
});

test("an embedding has the price of its input and the context of one input", () => {
  const pricing = { input: { usd: 0.0125 }, output: { usd: 0.0125 } };
  const model = only(read(row("e", "embedding", pricing, { maxInputTokens: 8192 })));
  assert.deepEqual([model.price, model.contextTokens], [{ kind: "embedding", input: 125n * 10n ** 8n }, 8192]);
});

test("an image has one price, or one by resolution, or by resolution and quality", () => {
  const upscale = { "2x": { usd: 0.02 } };
  const flat = only(read(row("i", "image", { generation: { usd: 0.01 }, upscale })));
  assert.deepEqual(flat.price, { kind: "image", byResolution: { "*": 10_000_000n * NANO } });
  const resolutions = { "1K": { usd: 0.27 }, "2K": { usd: 0.4 } };
  const quality = { "1K": { low: { usd: 0.02 }, high: { usd: 0.26 } } };
  const constraints = { defaultResolution: "1K", qualities: ["low", "high"], defaultQuality: "high" };
  const both = only(read(row("i", "image", { resolutions, quality, upscale }, { constraints })));
  assert.deepEqual(both.price, {
    kind: "image",
    byResolution: { "1K": 270_000_000n * NANO, "2K": 400_000_000n * NANO },
    byQuality: { "1K": { low: 20_000_000n * NANO, high: 260_000_000n * NANO } },
  });
  assert.deepEqual(both.features, constraints);
});

test("what cannot be priced or served is left out, with a reason", () => {
  assert.match(reason(row("x", "text", undefined)), /no price/);
  assert.match(reason(row("x", "text", { input: { usd: 1 } })), /no price output/);
  assert.match(reason(row("x", "text", { ...text, cache_input: { diem: 1 } })), /cache_input is not in dollars/);
  assert.match(reason(row("x", "text", { ...text, input: { usd: -1 } })), /not a non-negative decimal/);
  assert.match(reason(row("x", "text", { ...text, input: { usd: "free" } })), /not a non-negative decimal/);
  assert.match(reason(row("x", "text", { ...text, input: { usd: 1e-11 } })), /too small/);
  assert.match(reason(row("x", "text", { ...text, input: { usd: 1_000_001 } })), /absurd/);
  assert.match(reason(row("x", "text", { ...text, per_request: { usd: 1 } })), /per_request is not modelled/);
  assert.match(reason(row("x", "text", { ...text, extended: { input: { usd: 1 }, output: { usd: 1 } } })), /threshold/);
  assert.match(reason(row("x", "text", text, { offline: true })), /offline/);
  assert.match(reason(row("x", "text", text, { deprecation: { removesAt: "2026-01-01" } })), /retired/);
  assert.match(
    reason(row("x", "text", text, { deprecation: { autoRemap: true, date: "2026-01-01T00:00:00Z" } })),
    /retired/,
  );
  for (const type of ["video", "music"]) {
    assert.match(reason(row("x", type, { generation: { usd: 1 } })), new RegExp(`no route serves its type ${type}`));
  }
  assert.match(reason({ type: "text", model_spec: { pricing: text } }), /no usable id/);
});

test("a model in beta is left out unless the operator offers those", () => {
  const beta = row("t", "text", text, { beta: true });
  assert.match(reason(beta), /in beta/);
  const body = JSON.stringify({ data: [beta] });
  assert.deepEqual([...parseCatalogue(body, { atMs: AT, betaModels: true }).snapshot.models.keys()], ["t"]);
});

test("what a catalogue says of privacy, regions, its end and its weights is shown", () => {
  const spec = {
    ...{ privacy: "anonymized", regionRestrictions: ["EU"] },
    deprecation: { date: "2026-12-01", removesAt: "2027-01-01", replacementModelId: "u" },
    capabilities: {
      quantization: "fp8",
      supportsLogProbs: true,
      reasoningEffortOptions: ["low", "high"],
      maxImages: 4,
    },
  };
  assert.deepEqual(only(read(row("t", "text", text, spec))).features, {
    ...{ privacy: "anonymized", regionRestrictions: ["EU"], removesAt: "2027-01-01", replacementModel: "u" },
    ...{ quantization: "fp8", supportsLogProbs: true, reasoningEffortOptions: ["low", "high"], maxImages: 4 },
  });
});

test("a model that will be retired is served until then", () => {
  assert.equal(only(read(row("t", "text", text, { deprecation: { removesAt: "2027-01-01" } }))).id, "t");
});

test("of two rows of one id neither is served", () => {
  const { snapshot, leftOut } = read(
    row("t", "text", text),
    row("t", "text", { ...text, input: { usd: 1 } }),
    row("u", "text", text),
  );
  assert.deepEqual([...snapshot.models.keys()], ["u"]);
  assert.deepEqual(leftOut, [{ id: "t", reason: "it is listed more than once" }]);
});

const router = {
  id: "maker/m",
  created: 5,
  context_length: 200_000,
  pricing: { prompt: "0.00000154", completion: "0.00000484" },
};
const limits = { top_provider: { context_length: 100_000, max_completion_tokens: 24_000 } };

test("a router's prices are dollars per token, as text", () => {
  const pricing = {
    ...router.pricing,
    input_cache_read: "0.00000029",
    input_cache_write: "1e-7",
    request: "0",
    image: "0.0",
  };
  const architecture = { input_modalities: ["text", "image", "audio"], output_modalities: ["text"] };
  const model = only(read({ ...router, ...limits, pricing, architecture, supported_parameters: ["tools"] }));
  assert.ok(model.price.kind === "text");
  assert.deepEqual(model.price.rates, {
    input: cents(154),
    output: cents(484),
    cacheRead: cents(29),
    cacheWrite: cents(10),
  });
  assert.deepEqual([model.contextTokens, model.maxOutputTokens, model.ownedBy], [100_000, 24_000, "maker"]);
  assert.deepEqual(model.features, { supportsVision: true, supportsAudio: true, supportsTools: true });
});

test("a router's price that is not modelled leaves the model out; one of images or audio only those", () => {
  const priced = (more: object): object => ({ ...router, pricing: { ...router.pricing, ...more } });
  for (const request of ["0.01", "", " ", "0x0", "1e-30"]) {
    assert.match(reason(priced({ request })), /request is not modelled/, request);
  }
  assert.match(reason(priced({ internal_reasoning: "0.00001" })), /internal_reasoning is not modelled/);
  assert.match(reason(priced({ overrides: [{ prompt: "1" }] })), /overrides is not modelled/);
  assert.match(reason(priced({ prompt: "-1" })), /not a non-negative decimal/);
  assert.match(reason({ ...router, pricing: { prompt: "0" } }), /no price completion/);
  assert.match(reason({ ...router, architecture: { output_modalities: ["text", "image"] } }), /no route serves/);
  const architecture = { input_modalities: ["text", "image"] };
  const kept = only(
    read({
      ...(priced({ image: "0.001", internal_reasoning: "0.00000484", web_search: "0.01" }) as object),
      architecture,
    }),
  );
  assert.equal(kept.features.supportsVision, undefined);
});

test("a router's embedding model is an embedding model", () => {
  const model = only(read({ ...router, architecture: { output_modalities: ["embeddings"] } }));
  assert.deepEqual(model.price, { kind: "embedding", input: cents(154) });
});

test("the same prices have the same id, in whatever order they are listed; another price has another", () => {
  const a = row("a", "text", text);
  const b = row("b", "image", { resolutions: { "1K": { usd: 1 }, "2K": { usd: 2 } } });
  const turned = row("b", "image", { resolutions: { "2K": { usd: 2 }, "1K": { usd: 1 } } });
  assert.equal(read(a, b).snapshot.id, read(turned, a).snapshot.id);
  assert.notEqual(read(a, b).snapshot.id, read(a).snapshot.id);
  assert.notEqual(read(a).snapshot.id, read(row("a", "text", { ...text, input: { usd: 1.55 } })).snapshot.id);
  assert.match(read(a).snapshot.id, /^[0-9a-f]{32}$/);
});

test("an alias of what is not served, or with the name of a model, is reported", () => {
  const body = JSON.stringify({ data: [row("a", "text", text)] });
  const { leftOut } = parseCatalogue(body, { atMs: AT, aliases: { fine: ["a"], wrong: ["a", "b"], a: ["a"] } });
  assert.deepEqual(
    leftOut.map(({ id }) => id),
    ["wrong", "a"],
  );
});

test("a server's own list beside OpenAI's is no price file", () => {
  const body = JSON.stringify({ models: [{ name: "m.gguf" }], data: [{ id: "m.gguf", meta: { n_ctx_train: 4096 } }] });
  assert.throws(() => parseCatalogue(body, { atMs: AT }), /lists no prices; a price file can give them/);
});

test("a body that is no catalogue is an error that says so", () => {
  for (const body of ["<html>", "[]", "{}", '{"data":[]}', '{"data":[{"id":"m"}]}']) {
    assert.throws(() => parseCatalogue(body, { atMs: AT }), CatalogueError, body);
  }
  assert.throws(() => parseCatalogue("{}", { shape: "model-spec", atMs: AT }), CatalogueError);
});
