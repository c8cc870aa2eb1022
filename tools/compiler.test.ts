import assert from "node:assert/strict";
import { relative } from "node:path";
import { after, describe, test } from "node:test";
import { type ElementAccessExpression, type Node, type SourceFile, SyntaxKind } from "typescript/unstable/ast";
import {
  isBinaryExpression,
  isCallExpression,
  isElementAccessExpression,
  isExpressionStatement,
  isIdentifier,
  isPropertyAccessExpression,
} from "typescript/unstable/ast/is";
import { API } from "typescript/unstable/sync";
import { root } from "./test-plan.ts";

/** One program for the compiler's own errors and for the rules that need its types: to open it takes most of the time. */
const api = new API({ cwd: root });
const [project] = api.updateSnapshot({ openProject: `${root}tsconfig.json` }).getProjects();
assert.ok(project !== undefined);
const { program, checker } = project;
const ours = program
  .getSourceFileNames()
  .map((name) => ({ name, path: relative(root, name) }))
  .filter(({ path }) => !path.startsWith("..") && !path.includes("node_modules/"));

function written({ fileName, pos, code, text }: ReturnType<typeof program.getGlobalDiagnostics>[number]): string {
  const lines = (fileName === undefined ? "" : (program.getSourceFile(fileName)?.text ?? "")).slice(0, pos).split("\n");
  return `${relative(root, fileName ?? root)}:${lines.length}: TS${code} ${text}`;
}

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
]);

/** A value of unknown type is checked before it is used, so its lookup is safe. */
const CHECKED_LATER = /^(unknown|\{\}( \| null)?)$/;
const STRING = /^(string|any|PropertyKey)$/;

type Lookup = { key: Node; value: Node; isIn: boolean };

function lookupsIn(file: SourceFile): Lookup[] {
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

/** The functions of `node:test` return promises that its runner waits for. */
const WAITED_FOR = /^(test|it|describe|suite|before|after|beforeEach|afterEach)$/;
const PROMISE = /^(Promise|PromiseLike)</;

/** Statements that call a function and drop a promise's rejection, except calls of the test runner. */
function callsWithoutUse(file: SourceFile): Node[] {
  const found: Node[] = [];
  function visit(node: Node): void {
    if (isExpressionStatement(node) && isCallExpression(node.expression)) {
      const { expression: called, arguments: given } = node.expression;
      const [owner, name] = isPropertyAccessExpression(called) ? [called.expression, called.name.text] : [called, ""];
      const isOfRunner = isIdentifier(owner) && WAITED_FOR.test(owner.text);
      if (!isOfRunner && name !== "catch" && !(name === "then" && given.length === 2)) found.push(node.expression);
    }
    node.forEachChild(visit);
  }
  visit(file);
  return found;
}

/** The text of each type is asked for once. */
const texts = new Map<number, string>();

function typesOf(nodes: readonly Node[]): string[] {
  return checker.getTypeAtLocation(nodes).map((type) => {
    if (type === undefined) return "";
    const text = texts.get(type.id) ?? checker.typeToString(type);
    texts.set(type.id, text);
    return text;
  });
}

function files(isWanted: (path: string) => boolean): { path: string; file: SourceFile }[] {
  return ours.flatMap(({ name, path }) => {
    const file = isWanted(path) ? program.getSourceFile(name) : undefined;
    return file === undefined ? [] : [{ path, file }];
  });
}

describe("what the compiler knows of the tree", () => {
  after(() => api.close());

  test("the tree has no type error", () => {
    const found = [
      ...program.getConfigFileParsingDiagnostics(),
      ...program.getProgramDiagnostics(),
      ...program.getGlobalDiagnostics(),
      ...ours.flatMap(({ name }) => [
        ...program.getSyntacticDiagnostics(name),
        ...program.getSemanticDiagnostics(name),
      ]),
    ];
    assert.ok(ours.length > 1_000, `${ours.length} files were seen`);
    assert.deepEqual(found.map(written), []);
  });

  test("no string is looked up in a plain object", () => {
    const wrong: string[] = [];
    const excused = new Set<string>();
    let looked = 0;
    for (const { path, file } of files((path) => !NOT_LOOKED_AT.test(path))) {
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
  });

  test("every promise is awaited, returned, or marked with `void`", () => {
    const wrong: string[] = [];
    let looked = 0;
    for (const { path, file } of files(() => true)) {
      const calls = callsWithoutUse(file);
      looked += calls.length;
      const types = typesOf(calls);
      wrong.push(
        ...calls.filter((_, n) => PROMISE.test(types[n] ?? "")).map((call) => `${path}: ${call.getText(file)}`),
      );
    }
    assert.ok(looked > 5_000, `${looked} calls were seen`);
    assert.deepEqual(wrong, []);
  });
});
