import { equal, throws } from "node:assert/strict";
import { test } from "node:test";
import { UsageError } from "./errors.ts";
import { readTime } from "./key-terms.ts";

test("an end is an ISO day or time with its zone, and no text that JavaScript guesses at", () => {
  equal(readTime("2027-01-01", "The end").toISOString(), "2027-01-01T00:00:00.000Z");
  equal(readTime("2027-01-01T12:00:00+02:00", "The end").toISOString(), "2027-01-01T10:00:00.000Z");
  for (const odd of ["2027-02-30", "1/2/2027", "in 2028", "2027-01-01T12:00:00", "+100000-01-01", "5", ""]) {
    throws(() => readTime(odd, "The end"), UsageError, odd);
  }
});
