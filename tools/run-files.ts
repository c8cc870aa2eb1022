import { resolve } from "node:path";
import { describe } from "node:test";
import { pathToFileURL } from "node:url";

/** Runs test files in this process, one after the other. Hooks at the top of a file are for the tests of that file. */
for (const file of process.argv.slice(2)) {
  describe(file, async () => void (await import(pathToFileURL(resolve(file)).href)));
}
