import { FAULTS } from "./faults.ts";

/** Options of a start. `POST /__simulator/config` changes them while the simulator runs. */
export interface Settings {
  /** The price of an answer that the client leaves: the whole answer, the part that was sent, or nothing. */
  abortBilling: "full" | "partial" | "none";
  /** `light` leaves out headers and bodies; `off` keeps only the bill. */
  record: "off" | "light" | "full";
  delayMs: number;
  dripMs: number;
  slowDripMs: number;
  /** The text of chat answers: `noise` has every kind of awkward token, `english` has plain sentences. */
  answerText: "noise" | "english";
  /** 1: the catalogue also lists the models for tests, with one for each fault. */
  simulatorFaults: 0 | 1;
  /** Client errors in 30 s after which the bucket is locked for 30 s; null switches the budget off. */
  errorBudget: number | null;
  /** The bucket of client errors: one for each key, or for each key, model and user. */
  errorBudgetOf: "key" | "user";
  requestsPerMinute: number | null;
  historyDelayMs: number;
  clockOffsetMs: number;
  largeImageBytes: number;
  bigEventBytes: number;
  /** Units staked with the account. Each unit is an allowance of one dollar for each UTC day. */
  stakedUnits: string;
}

type Check = (value: unknown) => boolean;
const count: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const countOrNull: Check = (value) => value === null || count(value);
const dollars: Check = (value) => typeof value === "string" && /^\d{1,12}(\.\d{1,10})?$/.test(value);
const among =
  (...allowed: unknown[]): Check =>
  (value) =>
    allowed.includes(value);

const TABLE: { readonly [name in keyof Settings]: readonly [usual: Settings[name], check: Check] } = {
  abortBilling: ["full", among("full", "partial", "none")],
  record: ["full", among("off", "light", "full")],
  delayMs: [0, count],
  dripMs: [0, count],
  slowDripMs: [1000, count],
  answerText: ["noise", among("noise", "english")],
  simulatorFaults: [1, among(0, 1)],
  errorBudget: [20, countOrNull],
  errorBudgetOf: ["user", among("key", "user")],
  requestsPerMinute: [null, countOrNull],
  historyDelayMs: [0, count],
  clockOffsetMs: [0, Number.isSafeInteger],
  largeImageBytes: [10 * 1024 * 1024, count],
  bigEventBytes: [1024 * 1024, count],
  stakedUnits: ["0", dollars],
};

export const DEFAULT_SETTINGS = Object.fromEntries(
  Object.entries(TABLE).map(([name, [usual]]) => [name, usual]),
) as unknown as Settings;

export function isSettingName(name: string): name is keyof Settings {
  return Object.hasOwn(TABLE, name);
}

/** Takes the known settings out of `values`; throws on a wrong value and skips undefined. */
export function readSettings(values: Readonly<Record<string, unknown>>): Partial<Settings> {
  const settings: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) {
    if (!isSettingName(name) || value === undefined) continue;
    if (!TABLE[name][1](value)) throw new RangeError(`${name} cannot be ${JSON.stringify(value)}`);
    settings[name] = value;
  }
  return settings;
}

/** A fault of a model or of a path such as `/models`, for a number of requests. */
export interface PlacedFault {
  readonly fault: string;
  times: number;
}

/** @param value A fault's name, `{fault, times}`, or null for none. */
export function readPlacedFault(value: unknown): PlacedFault | null {
  if (value === null) return null;
  const { fault, times = Number.POSITIVE_INFINITY } = (typeof value === "string" ? { fault: value } : value) as {
    fault?: unknown;
    times?: number;
  };
  if (typeof fault !== "string" || !Object.hasOwn(FAULTS, fault)) throw new RangeError(`unknown fault: ${fault}`);
  return { fault, times };
}
