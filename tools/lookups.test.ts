import assert from "node:assert/strict";
import { relative } from "node:path";
import { test } from "node:test";
import { type ElementAccessExpression, type Node, SyntaxKind } from "typescript/unstable/ast";
import { isBinaryExpression, isElementAccessExpression } from "typescript/unstable/ast/is";
import { API } from "typescript/unstable/sync";
import { root } from "./test-plan.ts";

/**
 * No string looks a name up in a plain object, which also has the names of its prototype: `constructor`, `toString`,
 * `__proto__`. A table is a `Map`, or is read with `ownValue`. The type checker knows which keys are just strings.
 */
const NOT_LOOKED_AT =
  /\.(test|budget)\.tsx?$|\/(testing|generated|node_modules)\/|^(contracts|tools)\/|(^|\/)test\/(?!devnet\/)/;

/** Files whose names come from the columns of the ledger's schema. */
const columns = "columns of the schema, read for every row";
const allowed: ReadonlyMap<string, string> = new Map([
  ["protocol/src/own-value.ts", "the helper itself"],
  ["ledger/src/rows/sql.ts", columns],
  ["ledger/src/rows/storable.ts", columns],
  ["hosts/cloudflare/src/row-memory.ts", columns],
]);

/** A value of unknown type is checked before it is used, so its lookup is safe. */
const CHECKED_LATER = /^(unknown|\{\}( \| null)?)$/;
const STRING = /^(string|any|PropertyKey)$/;

type Lookup = { key: Node; value: Node; isIn: boolean };

function lookupsIn(file: Node): Lookup[] {
  const found: Lookup[] = [];
  function visit(node: Node): void {
    if (isElementAccessExpression(node) && !isWritten(node)) {
      found.push({ key: node.argumentExpression, value: node, isIn: false });
    } else if (isBinaryExpression(node) && node.operatorToken.kind === SyntaxKind.InKeyword) {
      found.push({ key: node.left, value: node, isIn: true });
    }
    node.forEachChild(visit);
  }
  visit(file);
  return found;
}

function isWritten(node: ElementAccessExpression): boolean {
  const { parent } = node;
  if (parent.kind === SyntaxKind.DeleteExpression) return true;
  return isBinaryExpression(parent) && parent.left === node && parent.operatorToken.kind === SyntaxKind.EqualsToken;
}

test("no string is looked up in a plain object", () => {
  const api = new API({ cwd: root });
  try {
    const [project] = api.updateSnapshot({ openProject: `${root}tsconfig.json` }).getProjects();
    assert.ok(project !== undefined);
    const { program, checker } = project;
    const typesOf = (nodes: readonly Node[]): string[] =>
      checker.getTypeAtLocation(nodes).map((type) => (type === undefined ? "" : checker.typeToString(type)));
    const wrong: string[] = [];
    const excused = new Set<string>();
    let looked = 0;
    for (const name of program.getSourceFileNames()) {
      const path = relative(root, name);
      if (path.startsWith("..") || NOT_LOOKED_AT.test(path)) continue;
      const file = program.getSourceFile(name);
      if (file === undefined) continue;
      const lookups = lookupsIn(file);
      looked += lookups.length;
      const keys = typesOf(lookups.map(({ key }) => key));
      const byString = lookups.filter((_, index) => STRING.test(keys[index] ?? ""));
      const values = typesOf(byString.map(({ value }) => value));
      for (const [index, { value, isIn }] of byString.entries()) {
        if (!isIn && CHECKED_LATER.test(values[index] ?? "")) continue;
        if (allowed.has(path)) excused.add(path);
        else wrong.push(`${path}: ${value.getText(file)}`);
      }
    }
    assert.ok(looked > 300, `${looked} lookups were seen`);
    assert.deepEqual(wrong, [], "use a Map, or `ownValue` of @inference/protocol/own-value");
    assert.deepEqual([...excused].sort(), [...allowed.keys()].sort(), "an exception that nothing needs");
  } finally {
    api.close();
  }
});
