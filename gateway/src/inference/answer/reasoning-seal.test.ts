import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { makeReasoningSeal } from "./reasoning-seal.ts";

const random = { bytes: (length: number) => randomBytes(length) };
const seal = makeReasoningSeal({ secret: new Uint8Array(32).fill(7) }, random);
const owner = { account: "account:0x1", model: "m" };

test("sealed reasoning opens for its account and model, and for nobody else", () => {
  const sealed = seal.seal(owner, "I think. é👋") ?? "";
  assert.equal(seal.open(owner, sealed), "I think. é👋");
  assert.equal(seal.open({ ...owner, account: "account:0x2" }, sealed), null);
  assert.equal(seal.open({ ...owner, model: "n" }, sealed), null);
  for (const text of ["", "igr1.", sealed.slice(5), `x${sealed}`, "gAAAAABo"]) {
    assert.equal(seal.open(owner, text), null, text);
  }
});

test("reasoning that an earlier version sealed opens", () => {
  assert.equal(seal.open(owner, "igr1.BQUFBQUFBQUFBQUFp8N5lvNpD1x4K6v-lT4XpHlg395RBhyu"), "I think.");
});

test("a reasoning above 256 KiB is not sealed", () => {
  assert.equal(seal.open(owner, seal.seal(owner, "x".repeat(256 * 1024)) ?? "")?.length, 256 * 1024);
  assert.equal(seal.seal(owner, "x".repeat(256 * 1024 + 1)), null);
});
