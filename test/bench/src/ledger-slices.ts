import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { SliceLoad, SliceResult } from "./ledger-slice.ts";
import { median } from "./percentile.ts";
import { lineReader, type Started, start } from "./process.ts";
import { realDirectory } from "./real-directory.ts";
import { shown, table } from "./table.ts";

// Compares the ledgers of several checkouts of this repository, all open at once. Each load runs in short slices that
// alternate between them, and a ratio is the median of the ratios slice by slice, so that a busy machine slows both.

const usage = `node test/bench/src/ledger-slices.ts [options] [a checkout's folder ...]
  The first checkout is what the others are divided by. Without any, this one runs alone.
  --slices <n>     of each load (9)
  --ms <n>         of a slice (1000)
  --accounts <n>   (1000)
  --past <n>       uses settled before (0)
  --only <words>   loads whose name holds one of these, comma-separated`;

const loads = {
  "1 in flight": { inFlight: 1 },
  "32 in flight": { inFlight: 32 },
  "256 in flight": { inFlight: 256 },
  "1,000/s": { perSecond: 1_000 },
  "5,000/s": { perSecond: 5_000 },
} satisfies Readonly<Record<string, SliceLoad["load"]>>;
type LoadName = keyof typeof loads;
const loadNames = Object.keys(loads) as LoadName[];

const figures = ["pairsPerSecond", "mainUs", "processUs", "p50Ms", "p99Ms", "rssMiB"] as const;
type SliceFigures = Readonly<Record<(typeof figures)[number], number>>;

/** The ledger of one checkout under one load: medians of its slices, and of their ratios to the first checkout's. */
interface SliceRow {
  readonly load: LoadName;
  readonly checkout: string;
  readonly medians: SliceFigures;
  readonly ratios: SliceFigures;
}

interface SliceOptions {
  readonly folders: readonly string[];
  readonly slices: number;
  readonly ms: number;
  readonly accounts: number;
  readonly past: number;
  /** Words: the loads whose names hold one. */
  readonly only: readonly string[];
  say(line: string): void;
}

/** This checkout. */
const here = join(import.meta.dirname, "../../..");

type Variant = { folder: string; process: Started; next: () => Promise<string> };

async function ledgerSlices({ folders, slices, ms, only, say, ...books }: SliceOptions): Promise<SliceRow[]> {
  const directory = await realDirectory("slices-");
  const variants = await Promise.all(folders.map((folder) => open(resolve(folder), directory, books)));
  const rows: SliceRow[] = [];
  for (const load of loadNames.filter((name) => only.some((word) => name.includes(word)))) {
    const results = variants.map((): SliceResult[] => []);
    for (let slice = 0; slice <= slices; slice += 1) {
      const order = slice % 2 === 0 ? [...variants.keys()] : [...variants.keys()].reverse();
      for (const index of order) {
        const result = await run(variants[index] as Variant, { load: loads[load], ms });
        // The first of a load only warms up.
        if (slice > 0) results[index]?.push(result);
      }
    }
    for (const [index, of] of results.entries()) {
      rows.push({ load, checkout: folders[index] ?? "", ...summary(of, results[0] ?? []) });
    }
    say(`ledger, ${load}: done`);
  }
  for (const { process: started } of variants) started.child.stdin?.end();
  return rows;
}

function summary(of: readonly SliceResult[], first: readonly SliceResult[]): Pick<SliceRow, "medians" | "ratios"> {
  const all = (value: (result: SliceResult, slice: number, figure: keyof SliceFigures) => number) =>
    Object.fromEntries(
      figures.map((figure) => [figure, median(of.map((result, slice) => value(result, slice, figure)))]),
    ) as unknown as SliceFigures;
  return {
    medians: all((result, _slice, figure) => result[figure]),
    ratios: all((result, slice, figure) => result[figure] / (first[slice]?.[figure] ?? Number.NaN)),
  };
}

function sliceReport(rows: readonly SliceRow[]): string {
  const isOne = new Set(rows.map(({ checkout }) => checkout)).size === 1;
  const cells = ({ checkout, medians, ratios }: SliceRow) =>
    figures.map((figure) => {
      const text = shown(medians[figure], figure === "pairsPerSecond" ? 0 : 2);
      return checkout === rows[0]?.checkout ? text : `${text} (${ratios[figure].toFixed(2)})`;
    });
  const names = (row: SliceRow) => (isOne ? [row.load] : [row.load, row.checkout]);
  const head = ["ledger, in slices", ...(isOne ? [] : ["checkout"])];
  const units = ["pairs/s", "main thread us/pair", "process us/pair", "p50 ms", "p99 ms", "RSS MiB"];
  return table(
    [...head, ...units],
    rows.map((row) => [...names(row), ...cells(row)]),
  );
}

async function open(
  folder: string,
  directory: string,
  { accounts, past }: Pick<SliceOptions, "accounts" | "past">,
): Promise<Variant> {
  const script = join(folder, "test/bench/src/ledger-slice.ts");
  const started = await start(process.execPath, [script, directory, String(accounts), String(past)], {
    openStdin: true,
  });
  const next = lineReader(started);
  await next();
  return { folder, process: started, next };
}

async function run({ process, next }: Variant, load: SliceLoad): Promise<SliceResult> {
  process.child.stdin?.write(`${JSON.stringify(load)}\n`);
  return JSON.parse(await next()) as SliceResult;
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      slices: { type: "string", default: "9" },
      ms: { type: "string", default: "1000" },
      accounts: { type: "string", default: "1000" },
      past: { type: "string", default: "0" },
      only: { type: "string", default: "" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) process.stdout.write(`${usage}\n`);
  else {
    const rows = await ledgerSlices({
      folders: positionals.length === 0 ? [here] : positionals,
      slices: Number(values.slices),
      ms: Number(values.ms),
      accounts: Number(values.accounts),
      past: Number(values.past),
      only: values.only.split(","),
      say: (line) => process.stderr.write(`${line}\n`),
    });
    process.stdout.write(`${sliceReport(rows)}\n`);
  }
}
