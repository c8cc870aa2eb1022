import { fileURLToPath } from "node:url";

/** The program that runs this command line, for other programs: in the clone and in the package. */
export function ownCommand(): string {
  return fileURLToPath(new URL("../bin/infer.mjs", import.meta.url));
}
