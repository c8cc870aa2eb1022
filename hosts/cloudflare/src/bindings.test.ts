import assert from "node:assert/strict";
import { test } from "node:test";
import type { DurableObjectNamespace } from "@cloudflare/workers-types";
import { objectOf, placedIn } from "./bindings.ts";

/** Cloudflare's namespaces: the ids of a jurisdiction differ from those of the same names without one. */
function namespaceOf(jurisdiction: string): DurableObjectNamespace {
  return {
    jurisdiction: namespaceOf,
    idFromName: (name: string) => `${jurisdiction} ${name}`,
    getByName: (name: string, options: object) => [`${jurisdiction} ${name}`, options],
  } as unknown as DurableObjectNamespace;
}

test("an object is called in the settings' jurisdiction and region, and knows itself by the same id", () => {
  const places = [
    [{}, "none ceiling", {}],
    [{ JURISDICTION: "", LOCATION_HINT: "" }, "none ceiling", {}],
    [{ LOCATION_HINT: "weur" }, "none ceiling", { locationHint: "weur" }],
    [{ JURISDICTION: "eu", LOCATION_HINT: "eeur" }, "eu ceiling", { locationHint: "eeur" }],
  ] as const;
  for (const [place, id, options] of places) {
    assert.deepEqual(objectOf(namespaceOf("none"), "ceiling", place), [id, options]);
    assert.equal(placedIn(namespaceOf("none"), place).idFromName("ceiling"), id);
  }
});
