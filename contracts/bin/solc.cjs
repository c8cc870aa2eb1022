#!/usr/bin/env node
// Runs the compiler from npm with the interface of a native solc: no download, and the same compiler on every machine.
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { createRequire } = require("node:module");

const load = createRequire(__filename);
const args = process.argv.slice(2);

if (args.includes("--standard-json")) {
  const at = args.indexOf("--base-path");
  const base = at < 0 ? process.cwd() : args[at + 1];
  // forge inlines the sources it found; only names that start with ../ (hoisted packages) reach this function.
  const read = (name) => {
    try {
      return { contents: fs.readFileSync(path.resolve(base, name), "utf8") };
    } catch (error) {
      return { error: error.message };
    }
  };
  // The compiler asks the table for a function at each call that may throw: a quarter of its time.
  const ask = WebAssembly.Table.prototype.get;
  const known = [];
  WebAssembly.Table.prototype.get = function (index) {
    known[index] ??= ask.call(this, index);
    return known[index];
  };
  // Sources outside the folder have absolute names but are imported by relative ones. Without this, each is compiled
  // twice.
  const input = JSON.parse(fs.readFileSync(0, "utf8"));
  for (const name of Object.keys(input.sources)) if (path.isAbsolute(name)) delete input.sources[name];
  process.stdout.write(load("solc").compile(JSON.stringify(input), { import: read }));
} else if (args.includes("--version")) {
  // Starting the wasm takes half a second, and forge calls this often.
  const memo = path.join(os.tmpdir(), `solc-version-${load("solc/package.json").version}-${process.getuid()}`);
  let version;
  try {
    version = fs.readFileSync(memo, "utf8");
  } catch {
    version = load("solc").version().replace("Emscripten.clang", "Linux.g++");
    fs.writeFileSync(memo, version);
  }
  console.log(`solc, the solidity compiler commandline interface\nVersion: ${version}`);
} else {
  console.error(`solc.cjs: unsupported arguments: ${args.join(" ")}`);
  process.exit(1);
}
