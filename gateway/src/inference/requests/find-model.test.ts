import assert from "node:assert/strict";
import { test } from "node:test";
import { context, refused } from "../../../test/models.ts";
import { findModel } from "./find-model.ts";

const find = (model: unknown, kind: "text" | "image" = "text") => findModel(model, kind, context);

test("a model is named by an alias or by its exact id", () => {
  assert.equal(find("text-1").id, "text-1");
  assert.equal(find("smart").id, "text-1");
  assert.equal(find("text-1:free").id, "text-1:free");
});

test("an id that is nearly right is not guessed, but proposed", () => {
  for (const near of ["TEXT-1", "text-1 ", "text_1"]) {
    assert.match(
      refused(() => find(near), "model_not_found", "model"),
      /Did you mean `text-1`/,
    );
  }
  assert.match(
    refused(() => find("nothing-like-it"), "model_not_found", "model"),
    /GET \/v1\/models/,
  );
  for (const name of ["", "constructor", "__proto__", "x".repeat(10_000)])
    refused(() => find(name), "model_not_found", "model");
});

test("an alias of several is the first that is served; beside chat it has no fallbacks", () => {
  const aliases = { chat: ["gone", "text-1"], sound: ["voice", "text-1"], silent: ["gone", "voice"] };
  const of = (name: string, kind: "text" | "speech") => findModel(name, kind, { ...context, aliases }).id;
  assert.deepEqual([of("chat", "text"), of("sound", "speech")], ["text-1", "voice"]);
  refused(() => of("silent", "speech"), "model_not_found", "model");
});

test("a suffix is refused, saying what to send", () => {
  const message = refused(() => find("text-1:enable_web_search=on"), "unsupported_parameter", "model");
  assert.match(message, /Send `text-1`/);
});

test("a model of another kind is refused, naming its route", () => {
  assert.match(
    refused(() => find("flat"), "invalid_request", "model"),
    /\/v1\/image\/generate/,
  );
  assert.match(
    refused(() => find("voice"), "invalid_request", "model"),
    /\/v1\/audio\/speech/,
  );
  assert.match(
    refused(() => find("embed"), "invalid_request", "model"),
    /\/v1\/embeddings/,
  );
  assert.match(
    refused(() => find("text-1", "image"), "invalid_request", "model"),
    /\/v1\/chat\/completions/,
  );
});

test("no model, or one that is no text, is refused", () => {
  refused(() => find(undefined), "invalid_request", "model");
  refused(() => find(5), "invalid_request", "model");
});
