import assert from "node:assert/strict";
import { test } from "node:test";
import { context, orderWith, refused } from "../../../test/models.ts";
import * as route from "./embeddings.ts";

const parseEmbeddingsOrder = orderWith(route.parseEmbeddingsOrder);

const order = (fields: object) => parseEmbeddingsOrder({ model: "embed", input: "Hi", ...fields }, context);

test("an embedding's body is written anew, and its maximum is the bytes of its inputs", () => {
  const { upstreamPath, upstreamBody, ignored, quote, stream } = order({
    input: ["é", "x".repeat(2000)],
    encoding_format: "base64",
    dimensions: 256,
    user: "client",
  });
  assert.deepEqual(JSON.parse(upstreamBody), {
    model: "embed",
    input: ["é", "x".repeat(2000)],
    encoding_format: "base64",
    dimensions: 256,
    user: "u_1",
  });
  assert.deepEqual([upstreamPath, stream, ignored], ["/embeddings", false, ["user"]]);
  assert.deepEqual(quote.bound, { promptTokens: 2 + 32 + 1000, completionTokens: 0 });
  assert.equal(quote.maxNanoUsd, 1034 * 1000);
});

test("arrays of token ids are refused, saying what to send", () => {
  for (const input of [
    [1, 2],
    [[1, 2], [3]],
  ]) {
    assert.match(
      refused(() => order({ input }), "invalid_request", "input"),
      /send text/,
    );
  }
});

test("no input, too many and empty ones are refused", () => {
  const wrong: [unknown, string][] = [
    [undefined, "input"],
    ["", "input"],
    [[], "input"],
    [Array(2049).fill("x"), "input"],
    [["x", ""], "input[1]"],
    [["x", 5], "input[1]"],
    [5, "input"],
  ];
  for (const [input, param] of wrong) refused(() => order({ input }), "invalid_request", param);
  refused(() => order({ dimensions: 0 }), "invalid_request", "dimensions");
  refused(() => order({ encoding_format: "int8" }), "invalid_request", "encoding_format");
  refused(() => order({ input_type: "query" }), "unsupported_parameter", "input_type");
  assert.equal(JSON.parse(order({ input: Array(2048).fill("x") }).upstreamBody).input.length, 2048);
});
