import { readFileSync } from "node:fs";
import { ownValue } from "@inference/protocol/own-value";

/** The parts of `wrangler.jsonc` that are used here, in Cloudflare's names. */
export type WranglerFile = {
  name: string;
  compatibility_date: string;
  compatibility_flags: readonly string[];
  durable_objects: { bindings: readonly { name: string; class_name: string }[] };
  kv_namespaces: readonly { binding: string }[];
  vars?: Readonly<Record<string, unknown>> | undefined;
  secrets: { required: readonly string[] };
  assets: { directory: string };
  dev: { port: number };
  placement?: object;
  services?: readonly { binding: string; service: string }[];
  routes?: readonly (string | { pattern: string })[];
  env?: Readonly<Record<string, Partial<WranglerFile>>>;
};

/** The entries of the file that wrangler does not take over from the top into an environment. */
export const NOT_INHERITED = ["vars", "secrets", "durable_objects", "kv_namespaces"] as const;

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

/**
 * The Worker of an environment, as wrangler makes it of the file. Undefined names the one at the top. Throws for an
 * unknown environment, and for one that lacks an entry that wrangler does not take over.
 */
export function environmentOf({ env = {}, ...top }: WranglerFile, name: string | undefined): WranglerFile {
  if (name === undefined) return top;
  const own = ownValue(env, name);
  if (own === undefined) throw new Error(`--env ${name}: the file has ${Object.keys(env).join(", ") || "none"}.`);
  const lacking = NOT_INHERITED.filter((entry) => entry in top && !(entry in own));
  if (lacking.length > 0) throw new Error(`env.${name} lacks ${lacking.join(", ")}, which wrangler does not inherit.`);
  return { ...top, name: `${top.name}-${name}`, ...own };
}

function keepString(_: string, string = ""): string {
  return string;
}
