import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { ErrorCode, GatewayError } from "@inference/protocol/errors";
import type { Model, ModelFeatures, Price } from "@inference/protocol/model";
import { makeReasoningSeal } from "../src/inference/answer/reasoning-seal.ts";
import { makeOrder } from "../src/inference/requests/make-order.ts";
import type { OrderContext, ParsedOrder, WrittenOrder } from "../src/inference/requests/order.ts";
import type { JsonObject } from "../src/json-object.ts";

/** Models and a context for tests of orders. */
const MICRO = 1_000_000_000_000n;

function model(id: string, price: Price, more: Partial<Model> = {}): [string, Model] {
  return [
    id,
    { id, created: 5, ownedBy: "o", price, contextTokens: null, maxOutputTokens: null, features: {}, ...more },
  ];
}

const text: Price = { kind: "text", rates: { input: 2n * MICRO, output: 10n * MICRO } };
const limits = { contextTokens: 100_000, maxOutputTokens: 24_000 };
const seeing: ModelFeatures & { supportsVideo: boolean } = { supportsVision: true, supportsVideo: true };
const image = {
  promptCharacterLimit: 100,
  defaultResolution: "1K",
  qualities: ["low", "high"],
  defaultQuality: "high",
};

export const models: ReadonlyMap<string, Model> = new Map([
  model("text-1", text, limits),
  model("text-1:free", text, limits),
  model("seeing", text, { ...limits, features: seeing }),
  model("seeing-unbounded", text, { maxOutputTokens: 100, features: seeing }),
  model("context-only", text, { contextTokens: 5000 }),
  model("unlimited", text),
  model("embed", { kind: "embedding", input: MICRO }, { contextTokens: 1000 }),
  model(
    "voice",
    { kind: "speech", character: 3n * MICRO },
    { features: { voices: ["a", "b"], formats: ["mp3", "wav"] } },
  ),
  model("listener", { kind: "transcription", second: MICRO }),
  model("editor", { kind: "edit", byResolution: { "1K": 70_000n * MICRO, "2K": 100_000n * MICRO } }),
  model("enlarger", { kind: "upscale", byResolution: { "2x": 20_000n * MICRO, "4x": 80_000n * MICRO } }),
  model("flat", { kind: "image", byResolution: { "*": 10_000n * MICRO } }),
  model(
    "sizes",
    { kind: "image", byResolution: { "1K": 170_000n * MICRO, "2K": 230_000n * MICRO, "4K": 400_000n * MICRO } },
    { features: { defaultResolution: "1K" } },
  ),
  model(
    "quality",
    {
      kind: "image",
      byResolution: { "1K": 270_000n * MICRO, "2K": 510_000n * MICRO },
      byQuality: { "1K": { low: 20_000n * MICRO, high: 260_000n * MICRO }, "2K": { low: 40_000n * MICRO } },
    },
    { features: image },
  ),
]);

export const context: OrderContext = {
  account: "account:0x1",
  reasoningSeal: makeReasoningSeal({ secret: new Uint8Array(32) }, { bytes: (length) => randomBytes(length) }),
  defaultOutputTokens: 32_768,
  snapshot: { id: "snap", atMs: 1, models },
  aliases: { smart: ["text-1"], ear: ["listener"], chain: ["gone", "text-1", "embed", "seeing"] },
  user: "u_1",
  chatExtras: {},
};

/** Makes orders of bodies. The body to send is text. */
export function orderWith(parse: (body: JsonObject, context: OrderContext) => ParsedOrder) {
  return (
    body: JsonObject,
    orderContext: OrderContext,
  ): Omit<WrittenOrder, "upstreamBody"> & { upstreamBody: string } => {
    const order = makeOrder(parse(body, orderContext));
    return { ...order, upstreamBody: Buffer.from(order.upstreamBody).toString() };
  };
}

/** Asserts that a request is refused, and answers with the message. */
export function refused(run: () => unknown, code: ErrorCode, param: string | null): string {
  let message = "";
  assert.throws(run, (error: GatewayError) => {
    assert.deepEqual([error.detail?.code, error.detail?.param ?? null], [code, param], error.message);
    message = error.message;
    return true;
  });
  assert.match(message, /[.?)]$/);
  return message;
}
