import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** A test file and the folder of its package, both relative to the root. */
export type TestFile = { readonly path: string; readonly package: string };

/** Test files that one process runs, one after the other, and the module whose hooks are for all of them. */
export type TestProcess = { readonly name: string; readonly files: readonly string[]; readonly shared?: string };

export type TestPlan = {
  /** Run several at a time, in this order. */
  readonly together: readonly TestProcess[];
  /** Read what forge has built: run in one process after the contracts' tests. */
  readonly afterForge: readonly TestProcess[];
};

/** The processes to start first, the longest first. A file that is named here has a process of its own. */
const FIRST: readonly string[] = [
  "test/devnet",
  "hosts/cloudflare/src/gateway.test.ts",
  "dashboard/src/dashboard.test.ts",
  "cli/src/devnet.test.ts",
  "hosts/node/src/gateway-settlement.test.ts",
  "sdk",
  "cli",
  "hosts/node",
  "test/conformance",
  "hosts/cloudflare",
  "tools",
  "hosts/node/src/gateway.test.ts",
  "chain",
  "ledger",
];

/** Loading the code takes a second of processor time: so many files of a package at most share a process. */
const FILES_A_PROCESS = 12;
const OF_PACKAGE: ReadonlyMap<string, number> = new Map([
  ["protocol", 40],
  ["ledger", 40],
  ["gateway", 120],
  ["chain", 20],
  ["sdk", 20],
  ["cli", 20],
  ["test/provider-simulator", 40],
  ["hosts/node", 30],
  ["hosts/cloudflare", 20],
  ["test/devnet", 20],
  ["dashboard", 24],
]);

/** Modules with a chain or a gateway that the files of a process share. */
const SHARED: ReadonlyMap<string, string> = new Map([
  ["contracts", "test/devnet/src/testing/shared-chains.ts"],
  ["chain", "chain/src/testing/shared-chain.ts"],
  ["keeper", "keeper/src/testing/three-chains.ts"],
  ["settler", "chain/src/testing/shared-chain.ts"],
  ["test/conformance", "test/conformance/src/testing/shared-gateway.ts"],
]);

const AFTER_FORGE: readonly string[] = ["contracts/script/gen-abi.test.ts"];

/** Tests that only the deep run has. */
export const DEEP = ".deep.test.ts";

/** Every file below a folder whose name ends so. */
export function findTestFiles(ending: string, folder = root, packageFolder = "."): TestFile[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  const isPackage = entries.some(({ name }) => name === "package.json");
  const own = isPackage ? relative(root, folder) : packageFolder;
  return entries
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory())
        return /^(node_modules|\..*|out|cache)$/.test(entry.name) ? [] : findTestFiles(ending, path, own);
      return entry.name.endsWith(ending) ? [{ path: relative(root, path), package: own }] : [];
    })
    .sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** Divides test files among processes and orders the processes. Each file of the deep run has its own process. */
export function planTests(files: readonly TestFile[], { deep }: { deep: boolean }): TestPlan {
  const readers = files.map(({ path }) => path).filter((path) => AFTER_FORGE.includes(path));
  const others = files.filter(({ path }) => !AFTER_FORGE.includes(path));
  const groups = Map.groupBy(others, (file) => (deep || FIRST.includes(file.path) ? file.path : file.package));
  const rank = (name: string): number => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  return {
    together: [...groups].sort(([one], [other]) => rank(one) - rank(other)).flatMap(([, group]) => processesOf(group)),
    afterForge: readers.length === 0 ? [] : [{ name: "contracts: what forge built", files: readers }],
  };
}

/** The processes of one package's files. */
function processesOf(files: readonly TestFile[]): TestProcess[] {
  const folder = files[0]?.package ?? "";
  const shared = SHARED.get(folder);
  const parts = Math.ceil(files.length / (OF_PACKAGE.get(folder) ?? FILES_A_PROCESS));
  return Array.from({ length: parts }, (_, part) => {
    const own = files.filter((_, index) => index % parts === part).map(({ path }) => path);
    const name = `${folder}: ${own.length} files${parts === 1 ? "" : `, part ${part + 1} of ${parts}`}`;
    return {
      name: own.length === 1 ? (own[0] ?? name) : name,
      files: own,
      ...(shared === undefined ? {} : { shared }),
    };
  });
}
