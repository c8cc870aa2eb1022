import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { keySentence } from "../keys/key-sentence.ts";
import { codeOf, readLogin } from "./code.ts";

test("a login leads back to this computer alone", () => {
  const read = (callback: string, state = "abc") => readLogin(new URLSearchParams({ callback, state }));
  deepEqual(read("http://127.0.0.1:4000/"), { callback: "http://127.0.0.1:4000/", state: "abc", terms: {} });
  for (const callback of [
    "http://127.0.0.1:4000@evil.example/",
    "http://127.0.0.1.evil.example:4000/",
    "http://127.0.0.1:4000/path",
    "http://127.0.0.1:99999/",
    "http://localhost:4000/",
    "https://evil.example/",
    "javascript:alert(1)//http://127.0.0.1:4000/",
    "",
  ]) {
    equal(read(callback), null, callback);
  }
  equal(read("http://127.0.0.1:4000/", ""), null);
});

test("the terms are those of the address, in its order, and nothing else", () => {
  const query = new URLSearchParams(
    "callback=http://127.0.0.1:1/&state=s&name=a&limit=1.50&limit_reset=daily&admin=yes&limit_monthly=5&models=b-*",
  );
  const terms = readLogin(query)?.terms ?? {};
  deepEqual(Object.entries(terms), [
    ["name", "a"],
    ["limit", "1.50"],
    ["limit_reset", "daily"],
    ["limit_monthly", "5"],
    ["models", "b-*"],
  ]);
  equal(keySentence(terms), "Key a: at most $1.50 a day and $5.00 a month, models b-*, no expiry");
});

test("the code is what a program reads: base64url of JSON in UTF-8", () => {
  const signed = { state: "s", message: "büro ✓ >>>???", signature: "0x12" };
  deepEqual(JSON.parse(Buffer.from(codeOf(signed), "base64url").toString("utf8")), signed);
  equal(/^[\w-]+$/.test(codeOf(signed)), true);
});
