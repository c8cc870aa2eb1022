import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./test-plan.ts";

export type Mutant = {
  readonly number: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** A Solidity suite, or parts of the paths of test files. */
  readonly tests: string;
};

const page = join(root, "docs", "testing.md");
const ROW = /^\| (\d+) \| `(.+?)` \| `(.+?)` \| `(.+?)` \| `(.+?)` \|$/;

/** The mutants of docs/testing.md. Throws if a row cannot be read, or its line is not in its file exactly once. */
export function readMutants(text = readFileSync(page, "utf8")): Mutant[] {
  const rows = text.split("\n").filter((line) => /^\| \d+ \|/.test(line));
  return rows.map((row) => {
    const [, number, file, from, to, tests] = ROW.exec(row) ?? [];
    if (!number || !file || !from || !to || !tests) throw new Error(`No mutant can be read from this row: ${row}`);
    const found = readFileSync(join(root, file), "utf8").split(from).length - 1;
    if (found !== 1) throw new Error(`Mutant ${number}: its line is in ${file} ${found} times, not once: ${from}`);
    return { number, file, from, to, tests };
  });
}
