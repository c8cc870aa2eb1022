import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hono } from "hono";
import { openFixture } from "../identity/testing/identity-fixture.ts";
import { makeApp } from "./app.ts";
import { routes } from "./routes.ts";

test("the table of routes is one that the fastest router takes: a path that it does not take slows all others", async () => {
  const app = makeApp(openFixture().gateway) as unknown as Hono;
  await app.request("/v1/models");
  assert.equal(app.router.name, "SmartRouter + RegExpRouter");
});

test("each path has one handler for all its methods: of several the router makes a chain for each request", () => {
  const app = makeApp(openFixture().gateway) as unknown as Hono;
  for (const { method, path } of routes) assert.equal(app.router.match(method, path)[0].length, 1, path);
});
