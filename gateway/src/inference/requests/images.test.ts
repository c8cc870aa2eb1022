import assert from "node:assert/strict";
import { test } from "node:test";
import { imageSizes } from "@inference/protocol/wire/images";
import { context, orderWith, refused } from "../../../test/models.ts";
import * as route from "./images.ts";

const parseImagesOrder = orderWith(route.parseImagesOrder);

const order = (fields: object) => parseImagesOrder({ model: "flat", prompt: "A cat", ...fields }, context);

test("an image's body is written anew, and it has one price", () => {
  const { upstreamPath, upstreamBody, ignored, quote } = order({
    n: 1,
    size: "512x512",
    response_format: "url",
    output_format: "webp",
    style: "vivid",
    background: "auto",
    quality: "hd",
    user: "client",
  });
  assert.deepEqual(JSON.parse(upstreamBody), {
    model: "flat",
    prompt: "A cat",
    n: 1,
    size: "512x512",
    response_format: "url",
    output_format: "webp",
    user: "u_1",
  });
  assert.equal(upstreamPath, "/images/generations");
  assert.deepEqual(ignored, ["style", "background", "user", "quality"]);
  assert.equal(quote.flatNanoUsd, 10_000_000);
});

test("a size costs the resolution that is nearest to it", () => {
  for (const size of imageSizes) assert.equal(order({ model: "sizes", size }).quote.maxNanoUsd, 170_000_000, size);
  assert.equal(order({ model: "sizes" }).quote.maxNanoUsd, 170_000_000);
});

test("where qualities have a price the default one is made, and another is refused here", () => {
  assert.equal(order({ model: "quality" }).quote.maxNanoUsd, 260_000_000);
  assert.equal(order({ model: "quality", quality: "auto" }).quote.maxNanoUsd, 260_000_000);
  assert.equal(order({ model: "quality", quality: "high" }).quote.maxNanoUsd, 260_000_000);
  const message = refused(() => order({ model: "quality", quality: "low" }), "unsupported_parameter", "quality");
  assert.match(message, /\/v1\/image\/generate/);
});

test("more than one image is refused, saying where variants are made", () => {
  for (const n of [0, 2, 10, "1"]) {
    assert.match(
      refused(() => order({ n }), "unsupported_parameter", "n"),
      /variants/,
    );
  }
});

test("options with a price and options without a meaning here are refused", () => {
  for (const field of ["enhance_prompt", "enable_web_search", "style_references"]) {
    refused(() => order({ [field]: true }), "unpriced_option", field);
  }
  refused(() => order({ stream: true }), "unsupported_parameter", "stream");
  refused(() => order({ background: "transparent" }), "unsupported_parameter", "background");
  refused(() => order({ size: "8x8" }), "invalid_request", "size");
  refused(() => order({ prompt: "" }), "invalid_request", "prompt");
  refused(() => order({ model: "quality", prompt: "x".repeat(101) }), "invalid_request", "prompt");
  refused(() => order({ model: "text-1" }), "invalid_request", "model");
});
