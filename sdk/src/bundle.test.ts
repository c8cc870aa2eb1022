import { ok } from "node:assert/strict";
import { dirname } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** The bundle of a page that imports from this library. */
async function bundle(program: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: dirname(fileURLToPath(import.meta.url)), loader: "ts" },
    ...{ bundle: true, minify: true, format: "esm", platform: "browser", write: false, logLevel: "error" },
  });
  return outputFiles?.[0]?.text ?? "";
}

test("a function is bundled without the others, and no schema library comes along", async () => {
  const reading = await bundle('import { connect, readCredits } from "./index.ts"; console.log(connect, readCredits);');
  const all = await bundle('import { createClient } from "./index.ts"; console.log(createClient);');
  for (const part of ["mintWithPermit", "activateOnBase", "notProven"]) {
    ok(!reading.includes(part), part);
    ok(all.includes(part), part);
  }
  ok(!/ZodError|invalid_union/.test(all), "zod");
  // In November 2026: 18 and 461 kB. Most of both are viem and the ABIs.
  ok(reading.length < 25_000, `${reading.length} bytes to read`);
  ok(all.length < 470_000, `${all.length} bytes for all`);
});
