import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { imageSizes } from "@inference/protocol/wire/images";
import { context, orderWith, refused } from "../../../test/models.ts";
import * as route from "./images.ts";

const parseImagesOrder = orderWith(route.parseImagesOrder);
const parseImageGenerateOrder = orderWith(route.parseImageGenerateOrder);

describe("POST /api/v1/images/generations", () => {
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
});

describe("POST /api/v1/image/generate", () => {
  const order = (fields: object) => parseImageGenerateOrder({ model: "quality", prompt: "A cat", ...fields }, context);

  test("each variant is billed as one image, by resolution and quality", () => {
    assert.equal(order({}).quote.maxNanoUsd, 260_000_000);
    assert.equal(order({ resolution: "1K", quality: "low" }).quote.maxNanoUsd, 20_000_000);
    assert.equal(order({ resolution: "2K", quality: "low", variants: 4 }).quote.flatNanoUsd, 160_000_000);
    assert.equal(order({ resolution: "2K", quality: "high" }).quote.maxNanoUsd, 510_000_000);
    assert.equal(order({ model: "flat", variants: 2 }).quote.maxNanoUsd, 20_000_000);
    assert.equal(order({ model: "sizes", resolution: "4K" }).quote.maxNanoUsd, 400_000_000);
  });

  test("a body is written anew, without a user, and with what does not change the price", () => {
    const fields = {
      steps: 30,
      seed: 5,
      width: 512,
      height: 512,
      format: "png",
      negative_prompt: "dog",
      safe_mode: false,
    };
    const { upstreamPath, upstreamBody, ignored } = order({ ...fields, enhance_prompt: false, anon_user_id: "a" });
    assert.deepEqual(JSON.parse(upstreamBody), { model: "quality", prompt: "A cat", ...fields });
    assert.deepEqual([upstreamPath, ignored], ["/image/generate", ["enhance_prompt", "anon_user_id"]]);
  });

  test("every option with a price that is not modelled is refused by name", () => {
    const options = { enhance_prompt: true, enable_web_search: true, style_references: [{ url: "x" }] };
    for (const [field, value] of Object.entries(options))
      refused(() => order({ [field]: value }), "unpriced_option", field);
    refused(() => order({ inpaint: {} }), "unsupported_parameter", "inpaint");
    refused(() => order({ foo: 1 }), "unsupported_parameter", "foo");
  });

  test("a choice that the model does not list is refused with those it does", () => {
    assert.match(
      refused(() => order({ resolution: "8K" }), "invalid_request", "resolution"),
      /1K, 2K/,
    );
    assert.match(
      refused(() => order({ quality: "ultra" }), "invalid_request", "quality"),
      /low, high/,
    );
    refused(() => order({ resolution: "*" }), "invalid_request", "resolution");
    refused(() => order({ model: "flat", resolution: "1K" }), "unsupported_parameter", "resolution");
    refused(() => order({ model: "flat", quality: "low" }), "unsupported_parameter", "quality");
    for (const variants of [0, 5, 1.5, "2"]) refused(() => order({ variants }), "invalid_request", "variants");
    refused(() => order({ variants: 2, return_binary: true }), "invalid_request", "return_binary");
    refused(() => order({ prompt: undefined }), "invalid_request", "prompt");
  });
});
