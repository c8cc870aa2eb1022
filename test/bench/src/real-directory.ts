import { mkdir, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A new directory beside this code: the system's temporary one may be in memory, where nothing has to be synced. */
export async function realDirectory(prefix: string): Promise<string> {
  const parent = fileURLToPath(new URL("../out/", import.meta.url));
  await mkdir(parent, { recursive: true });
  return mkdtemp(join(parent, prefix));
}
