import { createLedger, type Ledger } from "./billing.ts";
import { type Catalogue, createCatalogue } from "./catalogue.ts";
import { createKeyStore, type KeyStore } from "./keys.ts";
import { createRequestLimits, type RequestLimits } from "./limits.ts";
import { createRecordLog, type RecordLog } from "./record.ts";
import { DEFAULT_SETTINGS, type PlacedFault, readSettings, type Settings } from "./settings.ts";
import { DEFAULT_HEADER_PREFIX } from "./wire.ts";

export const DEFAULT_MASTER_KEY = "SIM_INFERENCE_KEY_master";
export const DEFAULT_ADMIN_KEY = "SIM_ADMIN_KEY_admin";

/** Options of a start. Every setting may be given too. */
export type SimulatorOptions = { [name in keyof Settings]?: Settings[name] | undefined } & {
  masterKey?: string | undefined;
  adminKey?: string | undefined;
  seed?: number | undefined;
  headerPrefix?: string | undefined;
  /** Milliseconds since the epoch; the machine's clock when absent. `clockOffsetMs` is added to it. */
  clock?: (() => number) | undefined;
};

/** All the state there is. A reset brings it back to what it was at the start. */
export interface Simulator {
  readonly masterKey: string;
  readonly seed: number;
  readonly seedText: string;
  readonly headerPrefix: string;
  readonly settings: Settings;
  readonly catalogue: Catalogue;
  readonly keys: KeyStore;
  readonly ledger: Ledger;
  readonly limits: RequestLimits;
  readonly records: RecordLog;
  /** Faults placed on a model id or a path. */
  readonly placedFaults: Map<string, PlacedFault>;
  inFlight: number;
  /** What requests with the marker `gate` of this name wait for. */
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
  const ledger = createLedger(now);
  const open = (): void => {
    ledger.setBalance(settings.balanceUsd);
    ledger.setAllowance(settings.stakedUnits);
  };
  let sequence = 0;
  const gates = new Map<string, PromiseWithResolvers<void>>();

  const simulator: Simulator = {
    masterKey,
    seed,
    seedText: (seed >>> 0).toString(16).padStart(8, "0"),
    headerPrefix: options.headerPrefix ?? DEFAULT_HEADER_PREFIX,
    settings,
    catalogue: createCatalogue(),
    keys: createKeyStore({ masterKey, adminKey: options.adminKey ?? DEFAULT_ADMIN_KEY, seed, now }),
    ledger,
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
    change(changed) {
      Object.assign(settings, changed);
      if (changed.balanceUsd !== undefined) ledger.setBalance(settings.balanceUsd);
      if (changed.stakedUnits !== undefined) ledger.setAllowance(settings.stakedUnits);
    },
    reset() {
      Object.assign(settings, started);
      sequence = 0;
      simulator.catalogue.reset();
      simulator.keys.reset();
      simulator.limits.reset();
      simulator.records.clear();
      simulator.placedFaults.clear();
      gates.clear();
      ledger.reset();
      open();
    },
  };
  open();
  return simulator;
}
