import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

export type Bundle = {
  code: Uint8Array;
  /** The exports of the Worker's module: its handler and the classes of its objects. */
  exports: readonly string[];
  /** The modules that it imports from the runtime. */
  imports: readonly string[];
  gzipBytes: number;
};

export const WORKER = new URL("../worker.ts", import.meta.url);

/** Bundles a Worker with its imports into one module, for the upload. */
export async function bundleWorker(entry: URL = WORKER): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(entry)],
    bundle: true,
    write: false,
    metafile: true,
    outfile: "worker.js",
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    logLevel: "silent",
  });
  const code = outputFiles[0]?.contents ?? new Uint8Array();
  const { exports = [], imports = [] } = Object.values(metafile.outputs)[0] ?? {};
  return { code, exports, imports: imports.map(({ path }) => path), gzipBytes: gzipSync(code).length };
}
