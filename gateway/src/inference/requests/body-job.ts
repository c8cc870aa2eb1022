import { createHash } from "node:crypto";
import { type ErrorDetail, GatewayError } from "@inference/protocol/errors";
import type { PriceSnapshot } from "@inference/protocol/model";
import { isFile } from "@inference/protocol/wire/file";
import { joinBytes } from "../../bytes.ts";
import { parseForm } from "../../http/form.ts";
import { parseJsonBody } from "../../http/json/parse-json-body.ts";
import { isJsonObject, type JsonObject } from "../../json-object.ts";
import type { OrderContext } from "./order.ts";

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
  /** The `Content-Type` of a form. Absent: the body is JSON. */
  formType?: string | undefined;
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
  /** A digest, equal for bodies that differ in white space, boundaries or the order of fields; null if not wanted. */
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
    return { fingerprint, refusal: refusalOf(error) };
  }
}

/** The same for a form, whose parser has no call that returns at once. */
export async function readForm<T>(
  { parse }: BodyParser<T>,
  { blocks, wantsFingerprint, formType }: BodyJob & { formType: string },
  contextOf: () => OrderContext,
): Promise<ReadBody<T>> {
  let fingerprint: string | null = null;
  try {
    const form = await parseForm(joinBytes(blocks), formType);
    if (wantsFingerprint) fingerprint = fingerprintOf(withFileDigests(form));
    return { fingerprint, parsed: parse(form, contextOf()) };
  } catch (error) {
    return { fingerprint, refusal: refusalOf(error) };
  }
}

/** Throws an error that is no refusal. */
function refusalOf(error: unknown): ErrorDetail {
  if (!(error instanceof GatewayError)) throw error;
  return error.detail;
}

/** A form's fields, with a digest in place of each file. */
function withFileDigests(form: JsonObject): JsonObject {
  const digested = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(digested);
    return isFile(value) ? { sha256: createHash("sha256").update(value.bytes).digest("hex") } : value;
  };
  return Object.fromEntries(Object.entries(form).map(([name, value]) => [name, digested(value)]));
}

function fingerprintOf(body: JsonObject): string {
  return createHash("sha256").update(JSON.stringify(body, withSortedFields)).digest("hex");
}

function withSortedFields(_key: string, value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}
