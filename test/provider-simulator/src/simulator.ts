import { createLedger, type Ledger } from "./billing.ts";
import { type Catalogue, createCatalogue } from "./catalogue.ts";
import { createKeyStore, type KeyStore } from "./keys.ts";
import { createRequestLimits, type RequestLimits } from "./limits.ts";
import { createRecordLog, type RecordLog } from "./record.ts";
import { DEFAULT_SETTINGS, type PlacedFault, readSettings, type Settings } from "./settings.ts";

export const DEFAULT_MASTER_KEY = "SIM_INFERENCE_KEY_master";
export const DEFAULT_ADMIN_KEY = "SIM_ADMIN_KEY_admin";

/** Options of a start, with every setting. */
export type SimulatorOptions = { [name in keyof Settings]?: Settings[name] | undefined } & {
  masterKey?: string | undefined;
  adminKey?: string | undefined;
  seed?: number | undefined;
  /** Milliseconds since the epoch; the machine's clock when absent. `clockOffsetMs` is added to it. */
  clock?: (() => number) | undefined;
};

/** The whole state. A reset restores the state of the start. */
export interface Simulator {
  readonly masterKey: string;
  readonly seed: number;
  readonly seedText: string;
  readonly settings: Settings;
  readonly catalogue: Catalogue;
  readonly keys: KeyStore;
  readonly ledger: Ledger;
  readonly limits: RequestLimits;
  readonly records: RecordLog;
  /** Faults placed on a model id or a path. */
  readonly placedFaults: Map<string, PlacedFault>;
  inFlight: number;
  /** Requests with the marker `[[gate=name]]` wait for this promise. */
  gate(name: string): PromiseWithResolvers<void>;
  now(): number;
  nextSequence(): number;
  change(settings: Partial<Settings>): void;
  reset(): void;
}

export function createSimulator(options: SimulatorOptions = {}): Simulator {
  const clock = options.clock ?? Date.now;
  const started: Settings = { ...DEFAULT_SETTINGS, ...readSettings(options) };
  const settings: Settings = { ...started };
  const seed = options.seed ?? 1;
  const masterKey = options.masterKey ?? DEFAULT_MASTER_KEY;
  const now = (): number => clock() + settings.clockOffsetMs;
  const gates = new Map<string, PromiseWithResolvers<void>>();
  let sequence = 0;

  const simulator: Simulator = {
    masterKey,
    seed,
    seedText: (seed >>> 0).toString(16).padStart(8, "0"),
    settings,
    catalogue: createCatalogue(),
    keys: createKeyStore({ masterKey, adminKey: options.adminKey ?? DEFAULT_ADMIN_KEY, seed, now }),
    ledger: createLedger(now, () => settings.stakedUnits),
    limits: createRequestLimits(now),
    records: createRecordLog(),
    placedFaults: new Map(),
    inFlight: 0,
    gate(name) {
      const gate = gates.get(name) ?? Promise.withResolvers<void>();
      gates.set(name, gate);
      return gate;
    },
    now,
    nextSequence: () => ++sequence,
    change: (changed) => void Object.assign(settings, changed),
    reset() {
      Object.assign(settings, started);
      sequence = 0;
      simulator.catalogue.reset();
      simulator.keys.reset();
      simulator.limits.reset();
      simulator.records.clear();
      simulator.ledger.reset();
      simulator.placedFaults.clear();
      gates.clear();
    },
  };
  return simulator;
}
