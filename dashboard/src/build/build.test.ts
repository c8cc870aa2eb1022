import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { bundleDashboard, staticImports } from "./build.ts";

const MOST_BYTES = 120_000;

test("the scripts of the first view have at most 120 kB compressed", async () => {
  const { site, metafile, entry } = await bundleDashboard();
  const first = staticImports(metafile, entry);
  const bytes = first.map((name) => gzipSync(site.assets[name]?.text ?? "", { level: 9 }).length);
  const sum = bytes.reduce((all, each) => all + each, 0);
  ok(first.length >= 3 && sum > 50_000, "it was not measured");
  ok(sum <= MOST_BYTES, `${sum} bytes`);
});

test("the bundle has no code of tests and servers, and no schema library", async () => {
  const { metafile } = await bundleDashboard();
  const inputs = Object.keys(metafile.inputs);
  deepEqual(
    inputs.filter((path) => /\.test\.|\/testing\/|node_modules\/(zod|hono)\/|^(gateway|ledger|test)\//.test(path)),
    [],
  );
});
