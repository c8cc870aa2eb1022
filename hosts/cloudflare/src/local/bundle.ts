import { fileURLToPath } from "node:url";
import { buildDashboard } from "@inference/dashboard/build/build";
import { build } from "esbuild";

export const WORKER = new URL("../worker.ts", import.meta.url);

/** Bundles a Worker with its imports into one module, for local workerd. wrangler bundles what is deployed. */
export async function bundleWorker(entry: URL = WORKER): Promise<Uint8Array> {
  await buildDashboard();
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(entry)],
    bundle: true,
    write: false,
    outfile: "worker.js",
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    // workerd alone serves no static assets.
    alias: { "@inference/dashboard/page.json": "@inference/dashboard/site.json" },
    logLevel: "silent",
  });
  return outputFiles[0]?.contents ?? new Uint8Array();
}
