import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build, type Metafile } from "esbuild";

/**
 * `npm pack` runs this first. It bundles the command with the workspaces and viem into one file for Node 20, so that
 * the package has no dependencies. A second file has the licenses of the bundled packages.
 */
const root = fileURLToPath(new URL("../../..", import.meta.url));
const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));

if (import.meta.main) {
  const { inputs } = await bundleCommand(path("dist/infer.mjs"));
  const folders = new Set(Object.keys(inputs).flatMap((file) => packageFolder(file) ?? []));
  writeFileSync(path("dist/LICENSES.txt"), [...folders].sort().map(licenseOf).join("\n\n"));
}

export async function bundleCommand(outfile: string): Promise<Metafile> {
  const { metafile } = await build({
    ...{ entryPoints: [path("src/main.ts")], outfile, absWorkingDir: root },
    ...{ bundle: true, minify: true, format: "esm", platform: "node", target: "node20", legalComments: "eof" },
    ...{ logLevel: "warning", metafile: true },
  });
  return metafile;
}

/** The folder of a bundled npm package; undefined: our own file. */
function packageFolder(file: string): string | undefined {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0];
}

function licenseOf(folder: string): string {
  const { name, version } = JSON.parse(readFileSync(`${root}${folder}/package.json`, "utf8")) as Record<string, string>;
  const file = readdirSync(root + folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined) throw new Error(`${name} has no license file.`);
  return `=== ${name} ${version}\n\n${readFileSync(`${root}${folder}/${file}`, "utf8").trim()}\n`;
}
