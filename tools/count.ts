import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { root } from "./test-plan.ts";

/** Prints the lines, and the lines of code, of the programs that git tracks, by kind and folder: `npm run count`. */
type Size = { lines: number; code: number };

const kinds = ["product TypeScript", "product Solidity", "TypeScript of tests", "Solidity of tests"] as const;

/** What a file counts as; null for generated files, and for files that are no program. */
function kindOf(path: string): (typeof kinds)[number] | null {
  if (!/\.(tsx?|mts|mjs|sol)$/.test(path) || /^(protocol\/src\/abi|contracts\/generated)\//.test(path)) return null;
  const isTest = /\.(test|budget)\.tsx?$|(^|\/)(test|testing|chaos|devnet|tools)\//.test(path);
  if (path.endsWith(".sol")) return isTest ? "Solidity of tests" : "product Solidity";
  return isTest ? "TypeScript of tests" : "product TypeScript";
}

/** A line of code is neither blank nor part of a comment that begins a line. */
function sizeOf(text: string): Size {
  const lines = text.replace(/\n$/, "").split("\n");
  let inComment = false;
  const code = lines.filter((line) => {
    const start = line.trim();
    const isComment = inComment || start.startsWith("/*");
    inComment = isComment && !start.includes("*/");
    return start !== "" && !isComment && !start.startsWith("//");
  });
  return { lines: lines.length, code: code.length };
}

/** The package, and of its `src` the folder below. */
function folderOf(path: string): string {
  const folders = path.split("/").slice(0, -1);
  const src = folders.indexOf("src");
  return folders.slice(0, src < 0 ? 2 : src + 2).join("/");
}

function print(name: string, files: readonly Size[]): void {
  const sum = (of: keyof Size) => String(files.reduce((total, file) => total + file[of], 0)).padStart(8);
  console.log(`${name.padEnd(32)}${sum("lines")}${sum("code")}`);
}

const paths = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" }).split("\0");
console.log(`${"".padEnd(32)}${"lines".padStart(8)}${"code".padStart(8)}`);
for (const kind of kinds) {
  const files = paths
    .filter((path) => kindOf(path) === kind)
    .map((path) => ({ folder: folderOf(path), ...sizeOf(readFileSync(root + path, "utf8")) }));
  print(kind, files);
  for (const [folder, inside] of Map.groupBy(files, (file) => file.folder)) print(`  ${folder}`, inside);
}
