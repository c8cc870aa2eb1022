import { readFileSync } from "node:fs";

type Variables = Readonly<Record<string, string | undefined>>;

/** The environment with a price file as its text: a Worker has no files. Throws if the file cannot be read. */
export function readSettings(environment: Variables): Variables {
  const { PRICES_FILE: file } = environment;
  return file ? { ...environment, PRICES_FILE: readFileSync(file, "utf8") } : environment;
}
