import { readdirSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** A test file and the folder of its package, both relative to the root. */
export type TestFile = { readonly path: string; readonly package: string };

/** Test files that one process runs, one after the other. */
export type TestProcess = { readonly name: string; readonly files: readonly string[] };

export type TestPlan = {
  /** Run several at a time, in this order. */
  readonly together: readonly TestProcess[];
  /** Read what forge has built: run in one process after the contracts' tests. */
  readonly afterForge: readonly TestProcess[];
};

/** Packages whose test files share nothing: one process loads the code once for all of them. */
const ONE_PROCESS: readonly string[] = ["protocol", "ledger", "gateway", "provider-simulator", "tools"];

/** Of these at most: a large package uses both cores. */
const FILES_A_PROCESS = 40;

/** The longest files first: one that starts last costs its whole length. */
const LONGEST: readonly RegExp[] = [
  /cloudflare\/.*conformance\.test/,
  /devnet\/.*main.*\.test/,
  /kill[-\w]*\.test\.ts$/,
  /cloudflare\/.*ledger\.property\.test/,
  /(node|cloudflare)\/src\/gateway[-\w]*\.test/,
  /cloudflare\/.*(departure|rollout|eviction|ceiling|out-of-service)[-\w]*\.test/,
  /devnet\/.*\.test/,
  /cli\/.*devnet\.test/,
  /node\/.*(crash-points|neighbours|settings|ledger\.property)\.test/,
  /deploy-main\.test/,
  /(http|other-apis)\.fuzz\.test/,
  /cloudflare\/.*\.test/,
  /conformance\/.*\.test/,
  /contracts\/.*deploy.*\.test/,
];

const AFTER_FORGE: readonly RegExp[] = [/contracts\/script\/(gen-abi|suites)\.test\.ts$/];

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

/** Divides test files among processes, and orders these. */
export function planTests(files: readonly TestFile[]): TestPlan {
  const isAfterForge = ({ path }: TestFile): boolean => matches(AFTER_FORGE, path);
  const free = files.filter((file) => !isAfterForge(file));
  const isShared = (file: TestFile): boolean => ONE_PROCESS.includes(basename(file.package));
  const shared = Map.groupBy(free.filter(isShared), (file) => file.package);
  const single = free.filter((file) => !isShared(file));
  const readers = files.filter(isAfterForge).map(({ path }) => path);
  return {
    together: [...single.map(({ path }) => processOf(path)), ...[...shared].flatMap(packageProcesses)].sort(
      (one, other) => rank(one) - rank(other),
    ),
    afterForge: readers.length === 0 ? [] : [{ name: "contracts: what forge built", files: readers }],
  };
}

function processOf(path: string): TestProcess {
  return { name: path, files: [path] };
}

function packageProcesses([folder, files]: [string, TestFile[]]): TestProcess[] {
  const parts = Math.ceil(files.length / FILES_A_PROCESS);
  return Array.from({ length: parts }, (_, part) => {
    const own = files.filter((_, index) => index % parts === part).map(({ path }) => path);
    const name = `${folder}: ${own.length} files${parts === 1 ? "" : `, part ${part + 1} of ${parts}`}`;
    return { name: own.length === 1 ? (own[0] ?? name) : name, files: own };
  });
}

/** Packages in one process come after the longest files and before all others. */
function rank({ files }: TestProcess): number {
  if (files.length > 1) return LONGEST.length;
  const place = LONGEST.findIndex((pattern) => pattern.test(files[0] ?? ""));
  return place === -1 ? LONGEST.length + 1 : place;
}

function matches(patterns: readonly RegExp[], path: string): boolean {
  return patterns.some((pattern) => pattern.test(path));
}
