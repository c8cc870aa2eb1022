import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Model } from "../gateway.ts";
import { CAPABILITIES, CONTEXTS, type Filters, filtersOf, find, nearestIds, queryOf } from "./catalogue.ts";

const NONE = filtersOf(new URLSearchParams());
const model = (id: string, prompt: string | null, more: object = {}): Model =>
  ({
    ...{ id, display_name: id, type: prompt === null ? "image" : "text", context_length: null, features: {} },
    pricing: prompt === null ? { prompt: "0", completion: "0", image: "0.04" } : { prompt, completion: "0.000001" },
    ...more,
  }) as unknown as Model;
const models = [
  model("alder-4b", "0.00000005", { context_length: 32_768 }),
  model("alder-120b", "0.0000006", { context_length: 131_072, features: { supports_tools: true } }),
  model("fellside-1", "0.0000025", { context_length: 1_000_000, features: { supports_tools: true } }),
  model("heath-image", null),
];
const ids = (filters: Partial<Filters>): string[] => find(models, { ...NONE, ...filters }).map(({ id }) => id);

test("a choice of filters is in the address, and comes out of it unchanged", () => {
  const filters = fc.record<Filters>({
    search: fc.string(),
    types: fc.uniqueArray(fc.constantFrom("text", "image", "tts")),
    capabilities: fc.subarray(CAPABILITIES.map(([name]) => name)),
    minContext: fc.constantFrom(...CONTEXTS.map(([value]) => Number(value))),
    mostInput: fc.option(fc.bigInt(0n, 10n ** 24n)),
    sort: fc.constantFrom("name", "context", "input", "cached", "output"),
    isDescending: fc.boolean(),
    marked: fc.uniqueArray(fc.constantFrom("maker/a", "b", "c"), { maxLength: 4 }),
  });
  const property = fc.property(filters, (chosen) => {
    deepEqual(filtersOf(new URLSearchParams(new URLSearchParams(queryOf(chosen)).toString())), { ...chosen });
  });
  fc.assert(property, { seed: 1 });
  deepEqual(queryOf(NONE), {});
});

test("models are found and ordered by what they have; a model without the figure comes last", () => {
  deepEqual(ids({}), ["fellside-1", "alder-120b", "alder-4b", "heath-image"]);
  deepEqual(ids({ sort: "input", isDescending: false }), ["alder-4b", "alder-120b", "fellside-1", "heath-image"]);
  deepEqual(ids({ sort: "input", isDescending: true }), ["fellside-1", "alder-120b", "alder-4b", "heath-image"]);
  deepEqual(ids({ search: "ALDER 1" }), ["alder-120b"]);
  deepEqual(ids({ capabilities: ["tools"], minContext: 256_000 }), ["fellside-1"]);
  deepEqual(ids({ mostInput: 600_000_000_000_000_000n }), ["alder-120b", "alder-4b"]);
  deepEqual(ids({ types: ["image"] }), ["heath-image"]);
});

test("an unknown id is answered with the nearest ids", () => {
  equal(nearestIds(models, "alder-12b")[0], "alder-120b");
  equal(nearestIds(models, "Felside_1")[0], "fellside-1");
  deepEqual(nearestIds(models, "zzz"), []);
});
