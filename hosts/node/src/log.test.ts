import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** `alert usage`, for every event that production code logs. The money path gives each of its parts an event. */
function loggedEvents(): string[] {
  const sources = globSync("{gateway,chain,settler,hosts/*}/src/**/*.ts", { cwd: root });
  const production = sources.filter((file) => !/\.test\.ts$|\/testing\/|\/chaos\//.test(file));
  const events = production.flatMap((file) => {
    const text = readFileSync(`${root}${file}`, "utf8");
    const calls = text.matchAll(/\blog\(\s*"(info|warn|alert)",\s*"(\w+)"|\balertOf\("(\w+)"\)/g);
    return [...calls].map(([, level = "alert", event, ofMoney]) => `${level} ${event ?? ofMoney}`);
  });
  return [...new Set(events)].sort();
}

test("every event that is logged is in the operator's page, and no other", () => {
  const page = readFileSync(`${root}docs/operating.md`, "utf8");
  const table = page.slice(page.indexOf("<!-- events -->"), page.indexOf("<!-- /events -->"));
  const rows = [...table.matchAll(/^\| (info|warn|alert) \| `(\w+)` \| \S.+ \|$/gm)];
  const events = loggedEvents();
  assert.ok(events.length > 10, "the sources were read");
  assert.deepEqual(
    rows.map(([, level, event]) => `${level} ${event}`),
    events,
  );
});

test("nothing that a client sends or gets is logged: a field is an id, a number, or why something failed", () => {
  const sources = globSync("{gateway,hosts/*}/src/**/*.ts", { cwd: root });
  for (const file of sources.filter((name) => !/\.test\.ts$|\/testing\/|\/chaos\//.test(name))) {
    const calls = readFileSync(`${root}${file}`, "utf8").matchAll(/\blog\(\s*"\w+",\s*"\w+",\s*\{([^}]*)\}/g);
    for (const [, fields = ""] of calls) {
      assert.doesNotMatch(
        fields,
        /\b(body|messages|prompt|content|authorization|apiKey|secret|token)\b/i,
        `${file}: ${fields}`,
      );
    }
  }
});

test("a library's output is one line of JSON on stderr, without its stack", () => {
  const said = `import { logWhatIsPrinted } from "./log.ts"; logWhatIsPrinted(); console.error(new Error("broken\\noff"));`;
  const args = ["--input-type=module", "--eval", said];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: import.meta.dirname, encoding: "utf8" });
  const [line = "", ...more] = stderr.trimEnd().split("\n");
  assert.deepEqual([stdout, more], ["", []]);
  const { level, event, message } = JSON.parse(line) as Record<string, string>;
  assert.deepEqual([level, event, message], ["warn", "printed", "Error: broken\noff"]);
});
