import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/**
 * `npm pack` runs this before: all that the command needs, the workspaces and viem included, becomes one file, so that
 * the package has no dependencies. Node 20 runs it.
 */
const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));

await build({
  entryPoints: [path("src/main.ts")],
  outfile: path("dist/infer.mjs"),
  ...{ bundle: true, minify: true, format: "esm", platform: "node", target: "node20", legalComments: "eof" },
  logLevel: "warning",
});
