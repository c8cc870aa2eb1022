import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { makeOpenApi } from "../docs/openapi.ts";
import { endpoints } from "./all.ts";

const openApi = makeOpenApi(endpoints, "https://gateway.example");

type Described = {
  responses: Record<string, unknown>;
  security: Record<string, unknown>[];
  parameters?: { name: string; required: boolean }[];
};
function described(id: string): Described {
  const all = Object.values(openApi.paths).flatMap((methods) => Object.values(methods));
  return (all.find((operation) => (operation as { operationId: string }).operationId === id) ??
    assert.fail(`${id} is not described`)) as Described;
}

test("an endpoint is served where it is documented; one that inference clients call under `/v1` too", () => {
  const ofAccount = ["/api/v1/credits", "/api/v1/key", "/api/v1/generation", "/api/v1/activity"];
  for (const { group, path, paths } of endpoints) {
    const isCalled = group === "Inference" || ofAccount.includes(path);
    const other = isCalled ? [path.replace("/api/v1/", "/v1/")] : [];
    assert.deepEqual(paths, [path, ...other]);
  }
});

test("no two endpoints have the same method and path, and no two metered ones are stored under the same name", () => {
  const served = endpoints.flatMap(({ method, paths }) => paths.map((path) => `${method} ${path}`));
  assert.equal(new Set(served).size, served.length);
  const names = endpoints.flatMap(({ metered }) => metered?.name ?? []);
  assert.equal(new Set(names).size, names.length);
});

test("an endpoint has an id of its own, parameters for the braces in its path, and each error once", () => {
  assert.equal(new Set(endpoints.map(({ id }) => id)).size, endpoints.length);
  for (const { path, pathParameters = {}, errors, id } of endpoints) {
    const braces = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    assert.deepEqual(Object.keys(pathParameters), braces, path);
    assert.equal(new Set(errors).size, errors.length, `${id} names an error twice`);
  }
});

test("an endpoint that takes a bearer token can answer 401, one that takes a body 400, 413 and 415", () => {
  for (const { credentials, body, id } of endpoints) {
    const { responses } = described(id);
    const expected = [...(credentials.length > 0 ? [401] : []), ...(body === undefined ? [] : [400, 413, 415])];
    for (const status of expected) assert.ok(status in responses, `${id} ${status}`);
  }
});

test("every reference in the document leads somewhere, and every schema is met", () => {
  const text = JSON.stringify(openApi.paths);
  const met = new Set([...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name));
  assert.deepEqual([...met].sort(), Object.keys(openApi.components.schemas).sort());
  for (const { id } of endpoints) {
    for (const scheme of described(id).security.flatMap(Object.keys)) {
      assert.ok(scheme in openApi.components.securitySchemes, scheme);
    }
  }
});

test("a schema in the document takes and refuses what its endpoint does", () => {
  const chat = z.fromJSONSchema(openApi.components.schemas.ChatRequest as Parameters<typeof z.fromJSONSchema>[0]);
  const good = { model: "m", messages: [{ role: "user", content: "hi" }], max_tokens: 5 };
  assert.ok(chat.safeParse(good).success);
  for (const wrong of [
    { ...good, max_tokens: 0 },
    { ...good, messages: [] },
    { ...good, nonsense: 1 },
    { model: "m" },
  ]) {
    assert.ok(!chat.safeParse(wrong).success, JSON.stringify(wrong));
  }
  const required = (id: string) =>
    described(id).parameters?.flatMap((parameter) => (parameter.required ? [parameter.name] : []));
  assert.deepEqual([required("getActivity"), required("getGeneration")], [[], ["id"]]);
});
