import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { root } from "./test-plan.ts";

/** `npm run count` prints the lines, and the lines of code, of the programs that git tracks, by kind and folder. */
export type Kind = "product TypeScript" | "product Solidity" | "TypeScript of tests" | "Solidity of tests";
export type Size = { readonly lines: number; readonly code: number };
export type CountedFile = Size & { readonly path: string; readonly kind: Kind };

/** Every program that git tracks. Generated files are left out. */
export function countFiles(): CountedFile[] {
  const paths = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" }).split("\0");
  return paths.flatMap((path) => {
    const kind = kindOf(path);
    return kind === null ? [] : [{ path, kind, ...sizeOf(readFileSync(root + path, "utf8")) }];
  });
}

export function sumOf(files: readonly Size[]): Size {
  const sum = (of: keyof Size) => files.reduce((total, file) => total + file[of], 0);
  return { lines: sum("lines"), code: sum("code") };
}

function kindOf(path: string): Kind | null {
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

/** The package, and the folder below its `src`. */
function folderOf({ path }: CountedFile): string {
  const folders = path.split("/").slice(0, -1);
  const src = folders.indexOf("src");
  return folders.slice(0, src < 0 ? 2 : src + 2).join("/");
}

if (import.meta.main) {
  const print = (name: string, lines: string | number, code: string | number): void =>
    console.log(`${name.padEnd(32)}${String(lines).padStart(8)}${String(code).padStart(8)}`);
  print("", "lines", "code");
  for (const [kind, files] of Map.groupBy(countFiles(), (file) => file.kind)) {
    const total = sumOf(files);
    print(kind, total.lines, total.code);
    for (const [folder, inside] of Map.groupBy(files, folderOf)) {
      const { lines, code } = sumOf(inside);
      print(`  ${folder}`, lines, code);
    }
  }
}
