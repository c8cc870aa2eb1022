import { deepEqual, match } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
type Manifest = { version: string; workspaces: string[]; devDependencies: Record<string, string> };
const root = JSON.parse(read("package.json")) as Manifest;

test("every package has the version that the changelog explains first", () => {
  const [, explained] = /^## (\S+), /m.exec(read("CHANGELOG.md")) ?? [];
  const lock = JSON.parse(read("package-lock.json")) as { packages: Record<string, Manifest> };
  const paths = ["", ...root.workspaces];
  const manifests = paths.map((path) => JSON.parse(read(`${path}/package.json`)) as Manifest);
  for (const versions of [manifests, paths.map((path) => lock.packages[path])]) {
    deepEqual(new Set(versions.map((each) => each?.version)), new Set([explained]));
  }
});

test("the pages on versions name the stored schema, and .nvmrc the pinned Node", () => {
  const [, schema] = /SCHEMA_VERSION = (\d+)/.exec(read("ledger/src/rows/schema.ts")) ?? [];
  match(read("docs/upgrading.md"), new RegExp(`^\\| ${root.version} \\| ${schema} \\|`, "m"));
  deepEqual(read(".nvmrc").trim(), root.devDependencies.node);
});
