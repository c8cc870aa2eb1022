import type { AttoUsd, Model } from "@inference/protocol/model";
import { isJsonObject, type JsonObject } from "../json-object.ts";
import { roundDecimal } from "../pricing/decimal.ts";

/** Helpers that read a model's row of a catalogue. An unusable row is left out, with a reason. */
export type ReadItem = (item: JsonObject, id: string, terms: { atMs: number; betaModels: boolean }) => Model;

export class LeftOut extends Error {
  override name = "LeftOut";
}

export function leaveOut(reason: string): never {
  throw new LeftOut(reason);
}

/** How a price is listed: dollars per number of units, and the decimal places that count. */
export type PriceUnit = { unitsPowerOfTen: number; places: number };
export const perMillion: PriceUnit = { unitsPowerOfTen: 6, places: 10 };
export const perImage: PriceUnit = { unitsPowerOfTen: 0, places: 10 };
export const perSecond: PriceUnit = { unitsPowerOfTen: 0, places: 10 };
export const perToken: PriceUnit = { unitsPowerOfTen: 0, places: 18 };

const ATTO_PLACES = 18;
/** A dollar per token or second, a thousand dollars per image: a higher price is a mistake. */
const MAX_ATTO = { token: 10n ** 18n, image: 10n ** 21n };

/** Atto-dollars per unit; undefined if there is no price. Zero is a price; a price that rounds to zero is rejected. */
export function readPrice(value: unknown, unit: PriceUnit, name: string): AttoUsd | undefined {
  if (value === undefined || value === null) return undefined;
  const scaled = roundDecimal(value, unit.places);
  if (scaled === undefined) leaveOut(`its price ${name} is not a non-negative decimal`);
  if (scaled === 0n && Number(value) !== 0) leaveOut(`its price ${name} is too small to be exact`);
  const atto = scaled * 10n ** BigInt(ATTO_PLACES - unit.places - unit.unitsPowerOfTen);
  if (atto > (unit === perImage ? MAX_ATTO.image : MAX_ATTO.token)) leaveOut(`its price ${name} is absurd`);
  return atto;
}

export function requirePrice(value: unknown, unit: PriceUnit, name: string): AttoUsd {
  return readPrice(value, unit, name) ?? leaveOut(`it has no price ${name}`);
}

/** A JSON object; an empty one if there is none. */
export function objectAt(parent: JsonObject, key: string): JsonObject {
  const value = parent[key];
  return isJsonObject(value) ? value : {};
}

export function textAt(parent: JsonObject, key: string): string | undefined {
  const value = parent[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function textsAt(parent: JsonObject, key: string): string[] | undefined {
  const value = parent[key];
  if (!Array.isArray(value)) return undefined;
  const texts = value.filter((each) => typeof each === "string" && each !== "");
  return texts.length === 0 ? undefined : texts;
}

/** A count of at least one; null if there is none. */
export function countAt(parent: JsonObject, key: string): number | null {
  const value = parent[key];
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : null;
}

/** Leaves out undefined fields. */
export function present<T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

/** The smaller count; null if there is none. */
export function least(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
