import { readFileSync } from "node:fs";

/** The parts of `wrangler.jsonc` that are used here, in Cloudflare's names. */
export type WranglerFile = {
  compatibility_date: string;
  compatibility_flags: readonly string[];
  durable_objects: { bindings: readonly { name: string; class_name: string }[] };
  kv_namespaces: readonly { binding: string }[];
  vars?: Readonly<Record<string, unknown>> | undefined;
  secrets: { required: readonly string[] };
  dev: { port: number };
  routes?: readonly (string | { pattern: string })[];
};

// Both match strings too, so that nothing inside one is changed.
const COMMENTS = /("(?:[^"\\]|\\.)*")|\/\/.*|\/\*[\s\S]*?\*\//g;
const LAST_COMMAS = /("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/g;

/** The Worker's configuration, with which local workerd runs it too. */
export const wranglerFile = parseWranglerFile(
  readFileSync(new URL("../../../../wrangler.jsonc", import.meta.url), "utf8"),
);

/** Reads JSON with comments, and with commas after last entries, as wrangler does. */
export function parseWranglerFile(text: string): WranglerFile {
  const plain = text.replace(COMMENTS, keepString).replace(LAST_COMMAS, keepString);
  try {
    return JSON.parse(plain) as WranglerFile;
  } catch (error) {
    throw new Error(`wrangler.jsonc is not valid JSON with comments: ${(error as Error).message}`);
  }
}

function keepString(_: string, string = ""): string {
  return string;
}
