import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { profiles } from "@inference/gateway/upstream/profiles/all";
import { edgeSettings } from "@inference/host-cloudflare/settings";
import { nodeSettings } from "@inference/host-node/settings";

/** Writes the tables of settings and profiles in docs/configuration.md from their source: `node tools/run.mjs tools/settings.ts`. */
const file = fileURLToPath(new URL("../docs/configuration.md", import.meta.url));

export function configurationPage(page = readFileSync(file, "utf8")): string {
  const rows = Object.entries({ ...nodeSettings.shape, ...edgeSettings.shape }).map(([name, schema]) => {
    const absent = schema.safeParse(undefined);
    const value = absent.success ? shown(absent.data) : "**required**";
    return `| \`${name}\` | ${value} | ${schema.description ?? ""} |`;
  });
  const table = ["| setting | default | meaning |", "|---|---|---|", ...rows];
  return replaced(replaced(page, "settings", table), "profiles", profileTable());
}

function profileTable(): string[] {
  const rows = Object.entries(profiles).map(([profile, settings]) => {
    const values = Object.entries(settings).map(([name, value]) => `\`${name}=${value}\``);
    return `| \`${profile}\` | ${values.join("<br>") || "none"} |`;
  });
  return ["| profile | settings |", "|---|---|", ...rows];
}

/** The page with these lines between the comments of this name. */
function replaced(page: string, name: string, lines: readonly string[]): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [before = "", rest = ""] = page.split(begin);
  return `${before}${begin}\n\n${lines.join("\n")}\n\n${end}${rest.split(end)[1] ?? ""}`;
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return "none";
  return `\`${typeof value === "object" ? JSON.stringify(value) : String(value)}\``;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(file, configurationPage());
