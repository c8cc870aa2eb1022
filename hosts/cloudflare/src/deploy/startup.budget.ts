import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runWrangler } from "../testing/wrangler.ts";

test("the Worker starts in the second that Cloudflare gives it", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "wrangler-"));
  t.after(() => rmSync(home, { recursive: true }));
  const said = await runWrangler(home, ["check", "startup", "--outfile", join(home, "startup.cpuprofile")]);
  assert.ok(Number(/Active: ([\d.]+) ms/.exec(said)?.[1]) < 1_000, said);
});
