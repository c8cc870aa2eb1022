import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hono } from "hono";
import { openFixture } from "../identity/testing/identity-fixture.ts";
import { makeApp } from "./app.ts";

test("the table of routes is one that the fastest router takes: a path that it does not take slows all others", async () => {
  const app = makeApp(openFixture().gateway) as unknown as Hono;
  await app.request("/v1/models");
  assert.equal(app.router.name, "SmartRouter + RegExpRouter");
});
