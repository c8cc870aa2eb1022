#!/usr/bin/env node
// In the repository: runs the sources with the pinned Node. In the package: runs the bundle.
import { existsSync } from "node:fs";

if (existsSync(new URL("../src/main.ts", import.meta.url))) {
  process.argv.splice(2, 0, "cli/src/main.ts");
  await import("../../tools/run.mjs");
} else {
  await import("../dist/infer.mjs");
}
