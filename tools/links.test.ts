import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

test("every relative link in a page of ours leads to a file", () => {
  const pages = pagesIn(root);
  assert.ok(pages.includes(join(root, "README.md")));
  const broken = pages.flatMap((page) =>
    linksOf(page)
      .filter((link) => !existsSync(resolve(dirname(page), link)))
      .map((link) => `${relative(root, page)}: ${link}`),
  );
  assert.deepEqual(broken, []);
});

function pagesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return /^(node_modules|\..*|out|cache|lib|dist)$/.test(entry.name) ? [] : pagesIn(path);
    return entry.name.endsWith(".md") ? [path] : [];
  });
}

/** Paths without their fragment; a link to a heading of the same page has none. */
function linksOf(page: string): string[] {
  const text = readFileSync(page, "utf8").replace(/^```[\s\S]*?^```|`[^`\n]*`/gm, "");
  const links = [...text.matchAll(/\]\(([^)\s]+)[^)]*\)|^\[[^\]]+\]:\s*(\S+)/gm)].map(
    ([, inline, below]) => inline ?? below ?? "",
  );
  return links
    .filter((link) => !/^[a-z][a-z0-9+.-]*:/i.test(link))
    .map((link) => decodeURIComponent(link.split("#", 1)[0] ?? ""))
    .filter((path) => path !== "");
}
