import { createHash } from "node:crypto";
import type { Model } from "@inference/protocol/model";

/** A digest of models and prices. It does not depend on their order: the same prices have the same id. */
export function snapshotId(models: Iterable<Model>): string {
  const sorted = [...models].sort((a, b) => (a.id < b.id ? -1 : 1));
  return createHash("sha256").update(JSON.stringify(sorted, canonical)).digest("hex").slice(0, 16);
}

function canonical(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
