import { createHash } from "node:crypto";
import { type ErrorDetail, GatewayError } from "@inference/protocol/errors";
import type { PriceSnapshot } from "@inference/protocol/model";
import { joinBytes } from "../../bytes.ts";
import { parseJsonBody } from "../../http/json/parse-json-body.ts";
import { isJsonObject, type JsonObject } from "../../json-object.ts";
import type { OrderContext } from "./order-context.ts";

/** An endpoint's reader of bodies. */
export type BodyParser<T> = {
  name: string;
  /** Makes data of a body, without functions. Throws `GatewayError` for a body that cannot be served. */
  parse(body: JsonObject, context: OrderContext): T;
};

/** A body to read. */
export type BodyJob = {
  /** The body in blocks. */
  blocks: readonly Uint8Array[];
  wantsFingerprint: boolean;
};

/** The same with all that its reader needs, for another thread. */
export type SentBodyJob = BodyJob & {
  /** The name of the endpoint's parser. */
  parser: string;
  context: Omit<OrderContext, "reasoningSeal" | "snapshot">;
  /** Null while the prices are not known. */
  snapshot: PriceSnapshot | null;
};

/** The parsed body, or the reason of its refusal. */
export type ReadBody<T> = {
  /** A digest, equal for bodies that differ in white space and in the order of fields; null if it was not wanted. */
  fingerprint: string | null;
} & ({ parsed: T } | { refusal: ErrorDetail });

/** @param contextOf May throw `GatewayError`: the body is then refused, with its fingerprint. */
export function readBody<T>(
  { parse }: BodyParser<T>,
  { blocks, wantsFingerprint }: BodyJob,
  contextOf: () => OrderContext,
): ReadBody<T> {
  let fingerprint: string | null = null;
  try {
    const body = parseJsonBody(joinBytes(blocks));
    if (wantsFingerprint) fingerprint = fingerprintOf(body);
    return { fingerprint, parsed: parse(body, contextOf()) };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { fingerprint, refusal: error.detail };
  }
}

function fingerprintOf(body: JsonObject): string {
  return createHash("sha256").update(JSON.stringify(body, withSortedFields)).digest("hex");
}

function withSortedFields(_key: string, value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}
