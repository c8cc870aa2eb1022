import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { utcDay, type Window, windowEnd, windowStart, windows } from "./window.ts";

const edges: [Window, string, string, string][] = [
  ["minute", "2026-12-31T23:59:59.999Z", "2026-12-31T23:59Z", "2027-01-01"],
  ["minute", "2026-11-21T00:00:00.000Z", "2026-11-21T00:00Z", "2026-11-21T00:01Z"],
  ["day", "2026-11-21T00:00:00.000Z", "2026-11-21", "2026-11-22"],
  ["day", "2026-11-21T23:59:59.999Z", "2026-11-21", "2026-11-22"],
  ["day", "2028-02-28T23:59:59.999Z", "2028-02-28", "2028-02-29"],
  ["day", "2028-02-29T12:00:00.000Z", "2028-02-29", "2028-03-01"],
  ["day", "2027-02-28T12:00:00.000Z", "2027-02-28", "2027-03-01"],
  ["day", "2026-12-31T23:59:59.999Z", "2026-12-31", "2027-01-01"],
  ["month", "2028-02-29T23:59:59.999Z", "2028-02-01", "2028-03-01"],
  ["month", "2027-02-28T23:59:59.999Z", "2027-02-01", "2027-03-01"],
  ["month", "2026-12-31T23:59:59.999Z", "2026-12-01", "2027-01-01"],
  ["month", "2027-01-01T00:00:00.000Z", "2027-01-01", "2027-02-01"],
];

for (const [window, at, start, end] of edges) {
  test(`the ${window} of ${at} is from ${start} to ${end}`, () => {
    assert.equal(windowStart(window, Date.parse(at)), Date.parse(start));
    assert.equal(windowEnd(window, Date.parse(at)), Date.parse(end));
  });
}

test("a lifetime starts at zero and has no end", () => {
  assert.equal(windowStart("lifetime", Date.parse("2026-11-21")), 0);
  assert.equal(windowEnd("lifetime", Date.parse("2026-11-21")), null);
});

test("windows follow one another without gap or overlap", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: Date.UTC(2200, 0) }), fc.constantFrom(...windows), (at, window) => {
      const start = windowStart(window, at);
      const end = windowEnd(window, at);
      assert.ok(start <= at);
      assert.equal(windowStart(window, start), start);
      if (end === null) return assert.equal(window, "lifetime");
      assert.ok(at < end);
      assert.equal(windowStart(window, end - 1), start);
      return assert.equal(windowStart(window, end), end);
    }),
  );
});

test("a day has its name in UTC", () => {
  assert.equal(utcDay(Date.parse("2026-11-21T23:59:59.999Z")), "2026-11-21");
  assert.equal(utcDay(Date.parse("2026-11-21T23:59:59.999-00:01")), "2026-11-22");
});
