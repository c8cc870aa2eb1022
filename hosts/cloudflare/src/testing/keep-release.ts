import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/**
 * Writes `fixtures/previous-release.js`, the code that `previous-release.test.ts` runs. Run it from the commit that was
 * released, and commit the file with the next change.
 */
await build({
  entryPoints: [fileURLToPath(new URL("release.ts", import.meta.url))],
  outfile: fileURLToPath(new URL("fixtures/previous-release.js", import.meta.url)),
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2024",
});
