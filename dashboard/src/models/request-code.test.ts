import { deepEqual, equal } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { codeOf } from "./request-code.ts";

Object.assign(globalThis, { location: new URL("https://gateway.example") });
const python = (...args: string[]) => spawnSync("python3", args, { encoding: "utf8" });

test("each request in Python compiles, with a key and without one", { skip: python("-V").status !== 0 }, () => {
  const types = ["text", "embedding", "tts", "asr", "image", "inpaint", "upscale"];
  const codes = types.flatMap((type) => [undefined, "ik_1"].map((key) => codeOf({ type, model: "maker/a-1", key })));
  const texts = codes.flatMap((tabs) => tabs.flatMap(({ name, text }) => (name === "Python" ? [text] : [])));
  equal(texts.length, 2 * types.length);
  const compile = "import json, sys\nfor text in json.loads(sys.argv[1]): compile(text, 'example', 'exec')";
  const { status, stderr } = python("-c", compile, JSON.stringify(texts));
  deepEqual([status, stderr], [0, ""]);
});
