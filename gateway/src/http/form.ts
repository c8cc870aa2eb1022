import { fail } from "@inference/protocol/errors";
import type { JsonObject } from "../json-object.ts";

/** A file of a form. Its name and type are the client's words. */
type FormFile = { name: string; type: string; bytes: Uint8Array };

/** The most parts of a form. The requests that take one have at most 20 fields. */
export const MAX_FORM_PARTS = 32;

/**
 * Parses a body of `multipart/form-data` with the platform's parser. A field whose name ends with `[]` is a list, and
 * every other one may be there once. The parts are counted first, so a body of many small ones costs little. Throws
 * 400 for a body that is no form.
 *
 * @param type The body's `Content-Type`, which names the boundary.
 */
export async function parseForm(bytes: Uint8Array, type: string): Promise<JsonObject> {
  const boundary = boundaryOf(type);
  checkParts(bytes, boundary);
  const fields: JsonObject = {};
  // The parser gets no other parameter in which it could read another boundary.
  for (const [name, value] of await entriesOf(bytes, `multipart/form-data; boundary="${boundary}"`)) {
    const read = typeof value === "string" ? value : await readFile(value);
    const listed = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (Array.isArray(listed)) listed.push(read);
    else if (listed === undefined) define(fields, name, name.endsWith("[]") ? [read] : read);
    else refuseTwice(name);
  }
  return fields;
}

/** A name such as `__proto__` is a field like any other. */
function define(fields: JsonObject, name: string, value: unknown): void {
  Object.defineProperty(fields, name, { value, enumerable: true, configurable: true, writable: true });
}

async function entriesOf(bytes: Uint8Array, type: string): Promise<[string, string | File][]> {
  try {
    const form = await new Response(bytes as BodyInit, { headers: { "content-type": type } }).formData();
    return [...form.entries()];
  } catch {
    return fail("invalid_request", "The body is not a complete form. Let your HTTP client write it.");
  }
}

async function readFile(file: File): Promise<FormFile> {
  return { name: file.name, type: file.type, bytes: new Uint8Array(await file.arrayBuffer()) };
}

/** The boundary of a form, of the characters that it may have (RFC 2046, 5.1.1). */
function boundaryOf(type: string): string {
  const match = /;\s*boundary=(?:"([\w'()+,./:=? -]{1,70})"|([\w'()+,./:=?-]{1,70}))\s*(?:;|$)/i.exec(type);
  return (
    match?.[1] ??
    match?.[2] ??
    fail("invalid_request", "`Content-Type` names no boundary of the form. Let your HTTP client set this header.")
  );
}

/** Throws for a form with too many parts. */
function checkParts(bytes: Uint8Array, boundary: string): void {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const mark = Buffer.from(`--${boundary}`);
  let parts = -1;
  for (let at = body.indexOf(mark); at !== -1; at = body.indexOf(mark, at + mark.length)) parts++;
  if (parts > MAX_FORM_PARTS) fail("invalid_request", `The form has more than ${MAX_FORM_PARTS} parts. Send fewer.`);
}

function refuseTwice(name: string): never {
  const param = name.slice(0, 64);
  return fail("invalid_request", `The field \`${param}\` is in the form twice. Send it once.`, { param });
}
