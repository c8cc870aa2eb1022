import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/**
 * Bundles the files of `docs/examples/` into two JSON files, which every host, the command line and the dashboard can
 * import as text. `npm run examples` writes them.
 */
const root = new URL("../../", import.meta.url);

export const bundles = {
  "gateway/src/docs/generated/examples.json": ["first-key.mjs", ...filesIn("skill"), ...filesIn("first-request")],
  "protocol/src/generated/tool-setups.json": filesIn("tools"),
};

/** The text of a bundle: an object from a file's name to its text, without the comments for the type checker. */
export function bundleOf(names: readonly string[]): string {
  const textOf = (name: string) => readFileSync(new URL(`docs/examples/${name}`, root), "utf8");
  const shown = (text: string) => text.replaceAll(/^ *\/\/ @ts-.*\n/gm, "").trimEnd();
  const texts = names.map((name) => [name, shown(textOf(name))]);
  return `${JSON.stringify(Object.fromEntries(texts), null, 2)}\n`;
}

function filesIn(folder: string): string[] {
  const names = readdirSync(new URL(`docs/examples/${folder}`, root)).sort();
  return names.map((name) => `${folder}/${name}`);
}

if (import.meta.main) {
  for (const [path, names] of Object.entries(bundles)) writeFileSync(new URL(path, root), bundleOf(names));
}
