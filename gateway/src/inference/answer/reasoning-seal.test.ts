import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { makeReasoningSeal } from "./reasoning-seal.ts";

const random = { bytes: (length: number) => randomBytes(length) };
const seal = makeReasoningSeal(randomBytes(32), random);
const owner = { account: "account:0x1", model: "m" };

test("sealed reasoning opens for its account and model, here, and for nobody else", () => {
  const sealed = seal.seal(owner, "I think. é👋") ?? "";
  assert.ok(!sealed.includes("think"));
  assert.notEqual(sealed, seal.seal(owner, "I think. é👋"));
  assert.equal(seal.open(owner, sealed), "I think. é👋");
  assert.equal(seal.open({ ...owner, account: "account:0x2" }, sealed), null);
  assert.equal(seal.open({ ...owner, model: "n" }, sealed), null);
  assert.equal(makeReasoningSeal(randomBytes(32), random).open(owner, sealed), null);
});

test("what is broken, cut or of another provider does not open", () => {
  const sealed = seal.seal(owner, "I think.") ?? "";
  const changed = `${sealed.slice(0, -2)}${sealed.at(-2) === "A" ? "B" : "A"}${sealed.at(-1)}`;
  for (const text of [
    "",
    "igr1.",
    "igr1.AAAA",
    sealed.slice(0, -4),
    changed,
    sealed.slice(5),
    `x${sealed}`,
    "gAAAAABo",
  ]) {
    assert.equal(seal.open(owner, text), null, text);
  }
});

test("a reasoning above 256 KiB is not sealed", () => {
  assert.equal(seal.open(owner, seal.seal(owner, "x".repeat(256 * 1024)) ?? "")?.length, 256 * 1024);
  assert.equal(seal.seal(owner, "x".repeat(256 * 1024 + 1)), null);
});
