import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Portkey's app as one module for workerd, which provides the modules of Node that it asks for. */
export async function bundlePortkey(): Promise<Uint8Array> {
  const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));
  const { outputFiles } = await build({
    entryPoints: [here("portkey-worker.ts")],
    bundle: true,
    write: false,
    outfile: "worker.js",
    format: "esm",
    target: "es2024",
    platform: "node",
    conditions: ["workerd", "worker", "browser"],
    mainFields: ["browser", "module", "main"],
    alias: { "@hono/node-server": here("portkey-server.ts"), "@hono/node-ws": here("portkey-server.ts") },
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire("file:///worker.js");' },
    logLevel: "silent",
  });
  const [bundle] = outputFiles;
  if (bundle === undefined) throw new Error("the bundler wrote nothing");
  return bundle.contents;
}
