import { equal, match, throws } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { SettingsError } from "@inference/gateway/settings";
import { readDashboard } from "./dashboard.ts";

const folder = mkdtempSync(join(tmpdir(), "dashboard-"));
const built = pathToFileURL(join(folder, "site.json"));
const script = join(folder, "wallet.js");
const assets = { "main-AAAAAAAA.js": { type: "text/javascript", text: "hello" } };
writeFileSync(built, JSON.stringify({ page: "<html><head></head></html>", assets }));
writeFileSync(script, "announce()");
after(() => rmSync(folder, { recursive: true }));

test("a dashboard that was not built is no reason not to start", () => {
  const missing = pathToFileURL(join(folder, "missing.json"));
  equal(readDashboard({ BASE_URL: "https://gateway.example", DASHBOARD_SCRIPT: undefined }, missing), undefined);
});

test("its page and files are those that were built", () => {
  const site = readDashboard({ BASE_URL: "https://gateway.example", DASHBOARD_SCRIPT: undefined }, built);
  const asset = site?.assets["main-AAAAAAAA.js"];
  equal(asset?.text, "hello");
  equal(site?.page, "<html><head></head></html>");
});

test("a script for development is the first that the page loads, on this machine alone", () => {
  for (const host of ["127.0.0.1:8787", "localhost:1", "[::1]:1"]) {
    const site = readDashboard({ BASE_URL: `http://${host}`, DASHBOARD_SCRIPT: script }, built);
    const [, name = ""] = /<head><script src="\/assets\/([^"]+)"><\/script>/.exec(site?.page ?? "") ?? [];
    match(name, /^development-[0-9a-f]{8}\.js$/);
    equal(site?.assets[name]?.text, "announce()");
  }
  for (const baseUrl of ["https://gateway.example", "https://127.0.0.1.example", "http://10.0.0.1"]) {
    throws(() => readDashboard({ BASE_URL: baseUrl, DASHBOARD_SCRIPT: script }, built), SettingsError, baseUrl);
  }
  const missing = { BASE_URL: "http://localhost:1", DASHBOARD_SCRIPT: join(folder, "missing.js") };
  throws(() => readDashboard(missing, built), /cannot be read/);
});
