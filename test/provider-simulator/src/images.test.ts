import assert from "node:assert/strict";
import { test } from "node:test";
import { json, lastRecord, post, start } from "./client.ts";

const NANO = 1_000_000_000n;
const PNG = [0x89, 0x50, 0x4e, 0x47];

test("an image answer is base64 in JSON, without usage or cost, and one image a variant", async () => {
  await using provider = await start();
  const heard = await post(provider, "/image/generate", {
    model: "sim-image",
    prompt: "a harbour",
    variants: 3,
    format: "png",
  });
  const answer = json<{ id: string; images: string[]; timing: Record<string, number> }>(heard);
  assert.deepEqual(Object.keys(answer), ["id", "images", "timing"]);
  assert.match(answer.id, /^generate-image-/);
  assert.equal(new Set(answer.images).size, 3);
  for (const image of answer.images) assert.deepEqual([...Buffer.from(image, "base64").subarray(0, 4)], PNG);
  assert.equal((await lastRecord(provider)).billedAtto, 30_000_000n * NANO);
});

test("return_binary gives the picture itself, in the format asked for", async () => {
  await using provider = await start();
  for (const [format, start4] of [
    ["png", "89504e47"],
    ["jpeg", "ffd8ffe0"],
    ["webp", "52494646"],
  ]) {
    const body = { model: "sim-image", prompt: "a harbour", format, return_binary: true };
    const heard = await post(provider, "/image/generate", body);
    assert.equal(heard.headers["content-type"], `image/${format}`);
    assert.equal(heard.bytes.subarray(0, 4).toString("hex"), start4);
  }
  const two = await post(provider, "/image/generate", {
    model: "sim-image",
    prompt: "x",
    return_binary: true,
    variants: 2,
  });
  assert.equal(two.status, 400);
});

test("a large image is as large as the setting says, and a cut one arrives in half", async () => {
  await using provider = await start({ largeImageBytes: 2_000_000 });
  const large = await post(provider, "/image/generate", {
    model: "fault-image-large",
    prompt: "x",
    return_binary: true,
  });
  assert.ok(large.bytes.length >= 2_000_000);
  const cut = await post(provider, "/image/generate", { model: "fault-image-cut", prompt: "x" });
  assert.equal(cut.complete, false);
  assert.ok(cut.bytes.length < Number(cut.headers["content-length"]));
});

test("the OpenAI shape answers b64_json or a data URL, takes one image only, and bills the default size", async () => {
  await using provider = await start();
  const body = {
    model: "sim-image-quality",
    prompt: "x",
    n: 1,
    size: "1792x1024",
    quality: "low",
    style: "vivid",
    user: "u1",
  };
  const plain = json<{ created: number; data: { b64_json: string }[] }>(
    await post(provider, "/images/generations", body),
  );
  assert.deepEqual([...Buffer.from(plain.data[0]?.b64_json ?? "", "base64").subarray(0, 4)], PNG);
  assert.equal((await lastRecord(provider)).billedAtto, 260_000_000n * NANO);
  const asUrl = await post(provider, "/images/generations", { ...body, response_format: "url", output_format: "jpeg" });
  assert.match(json<{ data: { url: string }[] }>(asUrl).data[0]?.url ?? "", /^data:image\/jpeg;base64,\/9j/);
  for (const [field, value] of [
    ["n", 2],
    ["size", "100x100"],
    ["prompt", "x".repeat(1501)],
    ["response_format", "png"],
  ]) {
    assert.equal(
      (await post(provider, "/images/generations", { ...body, [String(field)]: value })).status,
      400,
      String(field),
    );
  }
  assert.equal((await post(provider, "/images/generations", { prompt: "x" })).status, 400);
});
