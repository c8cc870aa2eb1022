import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { edgeSettings } from "@inference/host-cloudflare/settings";
import { nodeSettings } from "@inference/host-node/settings";

/** Writes the table of settings in docs/configuration.md from their schema: `node tools/run.mjs tools/settings.ts`. */
const file = fileURLToPath(new URL("../docs/configuration.md", import.meta.url));
const BEGIN = "<!-- settings -->";
const END = "<!-- /settings -->";

export function configurationPage(page = readFileSync(file, "utf8")): string {
  const rows = Object.entries({ ...nodeSettings.shape, ...edgeSettings.shape }).map(([name, schema]) => {
    const absent = schema.safeParse(undefined);
    const value = absent.success ? shown(absent.data) : "**required**";
    return `| \`${name}\` | ${value} | ${schema.description ?? ""} |`;
  });
  const table = ["| setting | default | meaning |", "|---|---|---|", ...rows].join("\n");
  const [before = "", rest = ""] = page.split(BEGIN);
  return `${before}${BEGIN}\n\n${table}\n\n${END}${rest.split(END)[1] ?? ""}`;
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return "none";
  return `\`${typeof value === "object" ? JSON.stringify(value) : String(value)}\``;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(file, configurationPage());
