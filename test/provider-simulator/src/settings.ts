import { FAULT_NAMES } from "./faults.ts";

/** What `POST /__simulator/config` may change while the simulator runs; the options of a start are the same names. */
export interface Settings {
  /** What an abort by the client costs: the whole answer, what was sent so far, or nothing. */
  abortBilling: "full" | "partial" | "none";
  costField: "present" | "absent" | "zero";
  /** `light` leaves out headers and bodies; `off` keeps only the bill. */
  record: "off" | "light" | "full";
  delayMs: number;
  dripMs: number;
  slowDripMs: number;
  /** A hang or a stall that no client ends is ended by the simulator. */
  maxHangMs: number;
  defaultTokens: number;
  /** What chat answers say: every kind of awkward token, or plain sentences. */
  answerText: "noise" | "english";
  /** 1: the catalogue lists the models that tests need too, those that stand for faults among them. */
  simulatorFaults: 0 | 1;
  /** Client errors in 30 s after which the bucket is locked for 30 s; null switches it off. */
  errorBudget: number | null;
  /** What a bucket of client errors is: of a key, or of key x model x user. */
  errorBudgetOf: "key" | "user";
  requestsPerMinute: number | null;
  /** Tokens of the provider's own system prompt, billed unless the request switches it off. */
  hiddenPromptTokens: number;
  speechCharacters: "utf16" | "codepoints";
  historyDelayMs: number;
  clockOffsetMs: number;
  largeImageBytes: number;
  bigEventBytes: number;
  rateLimitResetUnit: "seconds" | "milliseconds";
  balanceUsd: string;
  /** Staked with the account: each unit is an allowance of one dollar for each UTC day. */
  stakedUnits: string;
}

export const DEFAULT_SETTINGS: Settings = {
  abortBilling: "full",
  costField: "present",
  record: "full",
  delayMs: 0,
  dripMs: 0,
  slowDripMs: 1000,
  maxHangMs: 20 * 60_000,
  defaultTokens: 20,
  answerText: "noise",
  simulatorFaults: 1,
  errorBudget: 20,
  errorBudgetOf: "user",
  requestsPerMinute: null,
  hiddenPromptTokens: 100,
  speechCharacters: "utf16",
  historyDelayMs: 0,
  clockOffsetMs: 0,
  largeImageBytes: 10 * 1024 * 1024,
  bigEventBytes: 1024 * 1024,
  rateLimitResetUnit: "milliseconds",
  balanceUsd: "1000000",
  stakedUnits: "0",
};

type Check = (value: unknown) => boolean;
const count: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const countOrNull: Check = (value) => value === null || count(value);
const dollars: Check = (value) => typeof value === "string" && /^\d{1,12}(\.\d{1,10})?$/.test(value);
const among =
  (...allowed: string[]): Check =>
  (value) =>
    typeof value === "string" && allowed.includes(value);

const CHECKS: Record<keyof Settings, Check> = {
  abortBilling: among("full", "partial", "none"),
  costField: among("present", "absent", "zero"),
  record: among("off", "light", "full"),
  delayMs: count,
  dripMs: count,
  slowDripMs: count,
  maxHangMs: count,
  defaultTokens: count,
  answerText: among("noise", "english"),
  simulatorFaults: (value) => value === 0 || value === 1,
  errorBudget: countOrNull,
  errorBudgetOf: among("key", "user"),
  requestsPerMinute: countOrNull,
  hiddenPromptTokens: count,
  speechCharacters: among("utf16", "codepoints"),
  historyDelayMs: count,
  clockOffsetMs: Number.isSafeInteger,
  largeImageBytes: count,
  bigEventBytes: count,
  rateLimitResetUnit: among("seconds", "milliseconds"),
  balanceUsd: dollars,
  stakedUnits: dollars,
};

export function isSettingName(name: string): name is keyof Settings {
  return Object.hasOwn(CHECKS, name);
}

/** Takes the known settings out of `values`; throws on a wrong value. Undefined means "leave as it is". */
export function readSettings(values: Readonly<Record<string, unknown>>): Partial<Settings> {
  const settings: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) {
    if (!isSettingName(name) || value === undefined) continue;
    if (!CHECKS[name](value)) throw new RangeError(`${name} cannot be ${JSON.stringify(value)}`);
    settings[name] = value;
  }
  return settings;
}

/** A fault put on a model id or on a path such as `/models`, for ever or for a number of requests. */
export interface PlacedFault {
  readonly fault: string;
  times: number;
}

export function readPlacedFault(value: unknown): PlacedFault | null {
  if (value === null) return null;
  const placed = typeof value === "string" ? { fault: value, times: Number.POSITIVE_INFINITY } : value;
  if (typeof placed !== "object" || !("fault" in placed) || typeof placed.fault !== "string") {
    throw new RangeError("a fault is a name, {fault, times} or null");
  }
  if (!FAULT_NAMES.has(placed.fault)) throw new RangeError(`unknown fault: ${placed.fault}`);
  const times = "times" in placed && typeof placed.times === "number" ? placed.times : Number.POSITIVE_INFINITY;
  return { fault: placed.fault, times };
}
