import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { pathOfOldLink, pathTo, routeOf } from "./route.ts";

test("a path leads to the place and the id that it was made from", () => {
  for (const id of ["", "alder-4b", "maker/model", "maker/a model?#%", "%"]) {
    const url = new URL(pathTo("models", id, { x: "1 2" }), "http://gateway.test");
    const { place, rest, query } = routeOf(url.pathname, url.search);
    deepEqual([place, rest, query.get("x")], ["models", id, "1 2"], id);
  }
  equal(routeOf("/models/%E0%A4%A", "").rest, "%E0%A4%A");
});

test("links of before, with a hash, lead to the same page", () => {
  const links = {
    "#/": "/",
    "#/keys": "/keys",
    "#/dollars": "/funds",
    "#/spending": "/activity",
    "#/receipt/req_1": "/activity/req_1",
    "#/verify?receipt=req_1": "/verify?receipt=req_1",
    "#//evil.example/keys": "/evil.example/keys",
    "#/\\evil.example": "/evil.example",
    "#/login?callback=http://127.0.0.1:1/&state=a": "/login?callback=http://127.0.0.1:1/&state=a",
  };
  for (const [hash, path] of Object.entries(links)) equal(pathOfOldLink(hash, ""), path);
  equal(pathOfOldLink("#/verify?receipt=a", "?node=b"), "/verify?node=b&receipt=a");
  equal(pathOfOldLink("#main", ""), null);
});
