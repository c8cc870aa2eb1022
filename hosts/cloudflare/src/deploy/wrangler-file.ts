import { readFileSync } from "node:fs";

/** The parts of `wrangler.jsonc` that are used here, in Cloudflare's names. */
export type WranglerFile = {
  compatibility_date: string;
  compatibility_flags: readonly string[];
  durable_objects: { bindings: readonly { name: string; class_name: string }[] };
  kv_namespaces: readonly { binding: string }[];
  vars: Readonly<Record<string, unknown>>;
  secrets: { required: readonly string[] };
  dev: { port: number };
  routes?: readonly (string | { pattern: string })[];
};

/** The Worker's configuration, with which local workerd runs it too. */
export const wranglerFile = parseWranglerFile(
  readFileSync(new URL("../../../../wrangler.jsonc", import.meta.url), "utf8"),
);

/** Comments must be on lines of their own, and no comma may follow a last entry. */
export function parseWranglerFile(text: string): WranglerFile {
  return JSON.parse(text.replace(/^\s*\/\/.*$/gm, "")) as WranglerFile;
}
