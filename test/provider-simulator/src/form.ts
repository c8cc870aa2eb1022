import { schemaError, WireError } from "./errors.ts";
import type { Body } from "./validate.ts";

export function isForm(contentType: string): boolean {
  return /^multipart\/form-data\b/i.test(contentType);
}

/** A form's fields: texts, and the bytes of files. */
export async function parseForm(bytes: Buffer, type: string): Promise<Body> {
  const fields: Record<string, unknown> = {};
  try {
    const form = await new Response(new Uint8Array(bytes), { headers: { "content-type": type } }).formData();
    for (const [name, value] of form) {
      fields[name] = typeof value === "string" ? value : Buffer.from(await value.arrayBuffer());
    }
  } catch {
    throw new WireError(schemaError(null, "Request body is not a form", "invalid_form"));
  }
  return fields;
}

/** The text in a file or form. Samples of 24 bits that were of 16 have a zero between any two of its characters. */
export function textIn(bytes: Buffer): string {
  return bytes.toString("latin1").replaceAll("\0", "");
}
