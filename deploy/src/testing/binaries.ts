import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { root } from "./kit.ts";

const CACHE = join(root, "node_modules/.cache/debian");

/**
 * The path of a program of a Debian package: the installed one, or one that apt downloads into the cache of
 * node_modules, without an installation. Undefined where neither works.
 */
export function binaryOf(debianPackage: string, path: string): string | undefined {
  if (existsSync(`/${path}`)) return `/${path}`;
  const folder = join(CACHE, debianPackage);
  const file = join(folder, path);
  if (existsSync(file)) return file;
  mkdirSync(folder, { recursive: true });
  const script = `apt-get download -q ${debianPackage} && dpkg -x ${debianPackage}_*.deb . && rm ${debianPackage}_*.deb`;
  for (const command of [script, `apt-get update -q && ${script}`]) {
    if (spawnSync("sh", ["-ec", command], { cwd: folder }).status === 0) break;
  }
  return existsSync(file) ? file : undefined;
}
