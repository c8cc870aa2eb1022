import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hono } from "hono";
import { openFixture } from "../test/identity-fixture.ts";
import { makeApp } from "./app.ts";
import { endpoints } from "./routes/all.ts";

test("the endpoints' paths are such that the fastest router takes them: one that it does not take slows all others", async () => {
  const app = makeApp(openFixture().gateway) as unknown as Hono;
  await app.request("/v1/models");
  assert.equal(app.router.name, "SmartRouter + RegExpRouter");
});

test("each path has one handler for all its methods: of several the router makes a chain for each request", () => {
  const app = makeApp(openFixture().gateway) as unknown as Hono;
  for (const { method, paths } of endpoints)
    for (const path of paths) assert.equal(app.router.match(method, path)[0].length, 1, path);
});

test("the root names where everything is, each an address that answers", async () => {
  const fixture = openFixture();
  await fixture.gateway.prices.refresh();
  const { status, text } = await fixture.call("GET", "/");
  assert.equal(status, 200);
  const { name, version, ...links } = JSON.parse(text) as Record<string, string>;
  assert.ok(name && version);
  assert.deepEqual(Object.keys(links), ["docs", "openapi", "llms", "models", "status"]);
  const app = makeApp(fixture.gateway);
  for (const link of Object.values(links)) assert.equal((await app.fetch(new Request(link))).status, 200, link);
  assert.equal((await app.fetch(new Request("http://gateway.test/", { method: "HEAD" }))).status, 200);
});

test("what is not there is said to be so in few words, however long its path", async () => {
  const { call } = openFixture();
  for (const path of [
    `/${"x".repeat(10_000)}`,
    `/v1/models/${"x".repeat(10_000)}`,
    `/v1/models?${"x".repeat(10_000)}`,
  ]) {
    const { text } = await call("GET", path);
    assert.ok(text.length < 1_000, `${path.slice(0, 20)}: ${text.length}`);
  }
});

test("the time that a request has waited on its host counts as a part of its time", async () => {
  const { gateway } = openFixture();
  await makeApp(gateway).fetch(new Request("http://gateway.test/"), { waitedMs: 700 });
  const [root] = gateway.metrics.counts.routes.filter(({ statuses }) => statuses.size > 0);
  assert.ok((root?.duration.sumMs ?? 0) >= 700, `${root?.duration.sumMs} ms`);
});
