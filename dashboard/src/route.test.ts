import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { pathTo, routeOf } from "./route.ts";

test("a path leads to the place and the id that it was made from", () => {
  for (const id of ["", "alder-4b", "maker/model", "maker/a model?#%", "%"]) {
    const url = new URL(pathTo("models", id, { x: "1 2" }), "http://gateway.test");
    const { place, rest, query } = routeOf(url.pathname, url.search);
    deepEqual([place, rest, query.get("x")], ["models", id, "1 2"], id);
  }
  equal(routeOf("/models/%E0%A4%A", "").rest, "%E0%A4%A");
});
