import { statfsSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { SCHEMA_VERSION } from "@inference/ledger/schema";
import manifest from "../package.json" with { type: "json" };

/**
 * Prometheus' text of this process and its files: the default metrics of `prom-client` (processor time, memory, event
 * loop, file descriptors, garbage collection), the build, the ledger's files and the last backup. The library is
 * loaded here alone, and its sampling of the event loop runs from then on.
 *
 * @param file The ledger's database.
 */
export async function openProcessMetrics(file: string): Promise<() => Promise<string>> {
  const { collectDefaultMetrics, Gauge, Registry } = await import("prom-client");
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_SAMPLE_MS });
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name: PREFIX + name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  };
  const labels = { version: manifest.version, schema: SCHEMA_VERSION, node: process.version };
  new Gauge({
    name: `${PREFIX}build_info`,
    help: "1, with the build.",
    labelNames: Object.keys(labels),
    registers,
  }).set(labels, 1);
  new Gauge({
    ...{ name: `${PREFIX}ledger_bytes`, help: "The size of the ledger's files.", labelNames: ["file"], registers },
    collect() {
      for (const [name, end] of FILES)
        this.set({ file: name }, statSync(file + end, { throwIfNoEntry: false })?.size ?? 0);
    },
  });
  gauge("ledger_disk_free_bytes", "Free space on the ledger's disk.", () => {
    const { bavail, bsize } = statfsSync(dirname(file));
    return bavail * bsize;
  });
  gauge(
    "last_backup_timestamp_seconds",
    "When `backup` last copied the ledger; 0: never.",
    () => lastBackupAt(file) / 1_000,
  );
  return () => registry.metrics();
}

/** Notes that the ledger was copied. The time is that of an empty file beside the database. */
export function noteBackup(database: string, at: Date): void {
  const note = database + NOTE;
  // Appends nothing: a backup of the same name stays.
  writeFileSync(note, "", { mode: 0o600, flag: "a" });
  utimesSync(note, at, at);
}

function lastBackupAt(database: string): number {
  return statSync(database + NOTE, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

const PREFIX = "inference_gateway_";
const NOTE = "-backup";
const FILES = [
  ["database", ""],
  ["wal", "-wal"],
  ["key_value", "-kv"],
] as const;
const LOOP_SAMPLE_MS = 20;
