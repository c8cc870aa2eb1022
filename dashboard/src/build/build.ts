import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ownValue } from "@inference/protocol/own-value";
import { build, type Metafile } from "esbuild";
import { pageOf } from "./page.ts";

/** The dashboard as a host serves it: `DashboardFiles` of the gateway, as JSON. */
type Site = { page: string; assets: Record<string, { type: string; text: string }>; docs: DocsFiles };
type DocsFiles = Record<"theme" | "script" | "style" | "menu" | "icon", string>;

const source = fileURLToPath(new URL("..", import.meta.url));
const root = fileURLToPath(new URL("../../..", import.meta.url));
const folder = fileURLToPath(new URL("../../dist", import.meta.url));
/** Hosts read the first file. The second has no assets, which Cloudflare serves. The third lists the sources. */
const siteFile = join(folder, "site.json");
const pageFile = join(folder, "page.json");
const inputsFile = join(folder, "inputs.json");
const publicFolder = join(folder, "public");

/** For Cloudflare's static assets: the headers that the gateway itself sends with them. */
const HEADERS = `/assets/*
  Cache-Control: public, max-age=31536000, immutable
  X-Content-Type-Options: nosniff
`;

const TYPES: Readonly<Record<string, string>> = { js: "text/javascript", css: "text/css", svg: "image/svg+xml" };

/** The dashboard's, then those of the documentation. */
const ENTRIES = [
  "main.tsx",
  "style.css",
  "icon.svg",
  "docs/theme.ts",
  "docs/docs.ts",
  "docs/docs.css",
  "docs/menu.svg",
];

/** Builds the dashboard into `dist`, unless it exists and no source has changed. */
export async function buildDashboard(): Promise<void> {
  if (isCurrent()) return;
  const { site, metafile } = await bundleDashboard();
  writePublic(site);
  write(pageFile, JSON.stringify({ ...site, assets: {} }));
  write(inputsFile, JSON.stringify(Object.keys(metafile.inputs)));
  write(siteFile, JSON.stringify(site));
}

function writePublic({ assets }: Site): void {
  const files = join(publicFolder, "assets");
  mkdirSync(files, { recursive: true });
  // Another process may build meanwhile: its temporary files end with its number.
  const old = readdirSync(files).filter((name) => !Object.hasOwn(assets, name) && !/\.\d+$/.test(name));
  for (const name of old) rmSync(join(files, name), { force: true });
  for (const [name, { text }] of Object.entries(assets)) write(join(files, name), text);
  write(join(publicFolder, "_headers"), HEADERS);
}

/** Writes a file without a dashboard, unless an earlier build left one: hosts need the file. */
export function withoutDashboard(): void {
  if (existsSync(siteFile)) return;
  mkdirSync(publicFolder, { recursive: true });
  write(pageFile, "null");
  write(siteFile, "null");
}

/** Bundles it in memory. `entry` and `style` are the names of the files that the page loads first. */
export async function bundleDashboard(): Promise<{ site: Site; metafile: Metafile; entry: string; style: string }> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: ENTRIES.map((name) => join(source, name)),
    bundle: true,
    splitting: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    jsx: "automatic",
    outdir: "assets",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    loader: { ".svg": "copy" },
    define: { "process.env.NODE_ENV": '"production"' },
    legalComments: "none",
    logLevel: "error",
  });
  const assets = Object.fromEntries(
    outputFiles.map(({ path, text }) => {
      const type = ownValue(TYPES, path.slice(path.lastIndexOf(".") + 1)) ?? "text/plain";
      return [basename(path), { type, text }];
    }),
  );
  const named = (pattern: RegExp): string => Object.keys(assets).find((name) => pattern.test(name)) ?? "";
  const [entry, style, icon] = [named(/^main-.*\.js$/), named(/^style-.*\.css$/), named(/^icon-.*\.svg$/)];
  const preloads = staticImports(metafile, entry).filter((name) => name !== entry);
  const docs = {
    theme: named(/^theme-.*\.js$/),
    script: named(/^docs-.*\.js$/),
    style: named(/^docs-.*\.css$/),
    menu: named(/^menu-.*\.svg$/),
    icon,
  };
  return { site: { page: pageOf({ entry, style, icon, preloads }), assets, docs }, metafile, entry, style };
}

/** The static imports of a file, indirect ones included. */
export function staticImports(metafile: Metafile, entry: string): string[] {
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [basename(path), output]));
  const found = new Set<string>();
  const visit = (name: string): void => {
    if (found.has(name)) return;
    found.add(name);
    for (const { path, kind } of outputs.get(name)?.imports ?? []) {
      if (kind === "import-statement") visit(basename(path));
    }
  };
  visit(entry);
  return [...found];
}

function isCurrent(): boolean {
  if (![siteFile, pageFile, inputsFile].every(existsSync)) return false;
  const builtAt = statSync(siteFile).mtimeMs;
  const inputs = JSON.parse(readFileSync(inputsFile, "utf8")) as string[];
  const all = [...inputs, "package-lock.json", "dashboard/src/build/build.ts", "dashboard/src/build/page.ts"];
  return all.every((path) => {
    const file = join(root, path);
    return existsSync(file) && statSync(file).mtimeMs <= builtAt;
  });
}

/** Writes a file atomically, for a host that starts meanwhile. */
function write(file: string, text: string): void {
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, text);
  renameSync(temporary, file);
}
