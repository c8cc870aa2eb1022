import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

/** The own packages that each folder may import: the order of trust. Tests and their helpers may import more. */
const mayImport: Record<string, readonly string[]> = {
  contracts: [],
  protocol: [],
  ledger: ["protocol"],
  gateway: ["protocol", "ledger"],
  chain: ["protocol", "ledger"],
  settler: ["protocol", "ledger", "chain"],
  "hosts/node": ["protocol", "ledger", "gateway", "chain", "settler"],
  "hosts/cloudflare": ["protocol", "ledger", "gateway", "chain", "settler", "dashboard"],
  keeper: ["protocol", "chain", "contracts"],
  computer: ["protocol", "keeper", "sdk"],
  sdk: ["protocol"],
  cli: ["protocol", "sdk"],
  dashboard: ["protocol", "sdk"],
  "test/devnet": ["protocol", "contracts"],
  "test/provider-simulator": [],
  "test/conformance": [],
  // The benchmarks over HTTP import nothing; those of the ledger import the code that they measure.
  "test/bench": ["protocol", "ledger", "gateway", "contracts", "hosts/node", "hosts/cloudflare"],
  tools: ["gateway", "hosts/node", "hosts/cloudflare"],
};
const packages: Record<string, string> = {
  "host-node": "hosts/node",
  "host-cloudflare": "hosts/cloudflare",
  "provider-simulator": "test/provider-simulator",
  devnet: "test/devnet",
  conformance: "test/conformance",
  bench: "test/bench",
};
/** Packages of others that a folder may use at run time; none where there is no line. */
const mayDepend: Record<string, readonly string[]> = {
  contracts: ["viem", "zod"],
  protocol: ["hash-wasm", "ox", "viem", "zod"],
  chain: ["@ethereumjs/mpt", "viem"],
  gateway: ["@modelcontextprotocol/server", "hono", "viem", "zod"],
  "hosts/node": [
    "@hono/node-server",
    "@opentelemetry/api",
    "@opentelemetry/exporter-trace-otlp-http",
    "@opentelemetry/resources",
    "@opentelemetry/sdk-trace",
    "ipaddr.js",
    "prom-client",
    "undici",
    "zod",
  ],
  "hosts/cloudflare": ["esbuild", "viem", "zod"],
  settler: ["viem"],
  keeper: ["viem", "zod"],
  computer: ["viem"],
  sdk: ["eventsource-parser", "viem"],
  cli: ["esbuild", "viem", "zod"],
  dashboard: [
    "@radix-ui/react-dropdown-menu",
    "@radix-ui/react-tabs",
    "@tanstack/react-query",
    "cmdk",
    "idb-keyval",
    "markdown-to-jsx",
    "esbuild",
    "lucide-react",
    "react",
    "react-dom",
    "uqr",
    "viem",
    "wagmi",
    "wouter",
  ],
  "test/devnet": ["viem", "zod"],
  "test/conformance": [
    "@ai-sdk/anthropic",
    "@ai-sdk/openai",
    "@ai-sdk/openai-compatible",
    "@anthropic-ai/sdk",
    "@langchain/core",
    "@langchain/openai",
    "@openai/agents",
    "ai",
    "ajv",
    "fast-check",
    "openai",
    "playwright-core",
    "viem",
  ],
  "test/bench": ["esbuild", "undici"],
};
/** Inside the gateway, imports point one way: each folder may import those after it. */
const gatewayOrder = [
  "routes",
  "docs",
  "jobs",
  "inference",
  "http",
  "operator",
  "agents",
  "upstream",
  "auth",
  "catalogue",
  "pricing",
  "load",
];

const root = fileURLToPath(new URL("..", import.meta.url));
const folders = Object.keys(mayImport);

test("folders import only what is further down in the order of trust", () => {
  const wrong: string[] = [];
  for (const folder of folders) {
    for (const file of productionFiles(join(root, folder))) {
      for (const specifier of importsOf(file)) {
        const target = ownFolder(specifier);
        if (target !== undefined && target !== folder && !mayImport[folder]?.includes(target)) {
          wrong.push(`${relative(root, file)} imports ${specifier}`);
        }
      }
    }
  }
  assert.deepEqual(wrong, []);
});

test("production code uses only the packages its folder may depend on", () => {
  const wrong: string[] = [];
  for (const folder of folders) {
    for (const file of productionFiles(join(root, folder))) {
      for (const specifier of importsOf(file, "values")) {
        const isOurs = specifier.startsWith(".") || specifier.startsWith("@inference/");
        const isBuiltIn = specifier.startsWith("node:") || specifier.startsWith("cloudflare:");
        const name = specifier
          .split("/")
          .slice(0, specifier.startsWith("@") ? 2 : 1)
          .join("/");
        if (!isOurs && !isBuiltIn && !mayDepend[folder]?.includes(name)) {
          wrong.push(`${relative(root, file)} imports ${specifier}`);
        }
      }
    }
  }
  assert.deepEqual(wrong, []);
});

test("no file is part of a circle of imports, types included", () => {
  const files = folders.flatMap((folder) => productionFiles(join(root, folder)));
  const edges = new Map(files.map((file) => [file, importsOf(file).flatMap((name) => resolveImport(file, name))]));
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start !== -1) circles.push([...path.slice(start), file].map((name) => relative(root, name)).join(" -> "));
    if (start !== -1 || done.has(file)) return;
    for (const next of edges.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  assert.deepEqual(circles, []);
});

test("the gateway's folders import one way, types included", () => {
  const wrong: string[] = [];
  for (const file of productionFiles(join(root, "gateway"))) {
    const from = gatewayOrder.indexOf(relative(join(root, "gateway/src"), file).split("/")[0] ?? "");
    for (const target of importsOf(file).flatMap((specifier) => resolveImport(file, specifier))) {
      const to = gatewayOrder.indexOf(relative(join(root, "gateway/src"), target).split("/")[0] ?? "");
      if (from !== -1 && to !== -1 && to < from)
        wrong.push(`${relative(root, file)} imports ${relative(root, target)}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test("the ledger is pure: no clock, no randomness, no I/O, no dependency", () => {
  const banned = /\b(Date\.now|Math\.random|performance\.|setTimeout|fetch\(|crypto\.|process\.|node:)/;
  const wrong = productionFiles(join(root, "ledger")).filter((file) => banned.test(withoutComments(file)));
  assert.deepEqual(wrong, []);
});

const outside = [
  /\bDate\.now\b|\bDate\(\)|\bperformance\.|\bglobalThis\b/,
  /\bset(Timeout|Interval|Immediate)\b|\bAbortSignal\.timeout\b|\bqueueMicrotask\b/,
  /(?<!\.|\{ )\bfetch\(|\bnew WebSocket\b/,
  /\bMath\.random\b|\b(getRandomValues|randomUUID|randomBytes)\b/,
  // These three compute only.
  /\bprocess\.|\bnode:(?!crypto|stream|zlib)/,
];

for (const folder of ["protocol", "gateway", "chain"]) {
  test(`${folder} has no clock, timer, network, randomness or environment of its own`, () => {
    const wrong = productionFiles(join(root, folder)).flatMap((file) => {
      const source = withoutComments(file);
      return outside.filter((own) => own.test(source)).map((own) => `${relative(root, file)}: ${own}`);
    });
    assert.deepEqual(wrong, []);
  });
}

test("no file is longer than 400 lines, no line longer than 120 characters", () => {
  const wrong: string[] = [];
  for (const folder of folders) {
    for (const file of sourceFiles(join(root, folder))) {
      const lines = readFileSync(file, "utf8").split("\n");
      if (lines.length > 401 && isProduction(file)) wrong.push(`${relative(root, file)}: ${lines.length} lines`);
      const long = lines.findIndex((line) => line.length > 120 && !/https?:\/\/|`|"/.test(line));
      if (long !== -1 && isProduction(file)) wrong.push(`${relative(root, file)}:${long + 1} is too long`);
    }
  }
  assert.deepEqual(wrong, []);
});

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      const skipped = /^(node_modules|generated|abi|out|cache|dist|results)$/.test(entry.name);
      return skipped || folders.includes(relative(root, path)) ? [] : sourceFiles(path);
    }
    return /\.tsx?$/.test(entry.name) ? [path] : [];
  });
}

function isProduction(file: string): boolean {
  return !/(\.(test|budget)\.tsx?$|\/testing\/|\/(gateway|contracts)\/test\/)/.test(file);
}

function productionFiles(folder: string): string[] {
  return sourceFiles(folder).filter(isProduction);
}

function withoutComments(file: string): string {
  return readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
}

/** @param kind `values` leaves out what is imported for its types alone: that does not exist at run time. */
function importsOf(file: string, kind: "all" | "values" = "all"): string[] {
  const source = withoutComments(file);
  const statements = source.matchAll(/^\s*(?:import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?"([^"]+)"/gm);
  return [...statements].flatMap(([, type, specifier = ""]) => (kind === "values" && type ? [] : [specifier]));
}

function ownFolder(specifier: string): string | undefined {
  const name = /^@inference\/([^/]+)/.exec(specifier)?.[1];
  return name === undefined ? undefined : (packages[name] ?? name);
}

function resolveImport(file: string, specifier: string): string[] {
  if (specifier.startsWith(".")) return [resolve(dirname(file), specifier)];
  const folder = ownFolder(specifier);
  const rest = specifier.split("/").slice(2).join("/");
  const below = folder === "gateway" && rest.startsWith("test/") ? "" : "src";
  return folder === undefined ? [] : [join(root, folder, below, `${rest}.ts`)];
}
