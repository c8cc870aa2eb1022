import { fail } from "@inference/protocol/errors";
import { isFile } from "@inference/protocol/wire/file";
import { writeBody } from "./order.ts";
import { writeForm } from "./write-form.ts";

type Sent = { upstreamBody: Uint8Array; upstreamType?: string };

/** Writes a request with an image in the form that the client used: a file in a form, a text in JSON. */
export function writeWithImage(
  fields: Readonly<Record<string, string | number | boolean | undefined>>,
  image: string | { bytes: Uint8Array },
): Sent {
  if (!isFile(image)) return { upstreamBody: writeBody({ ...fields, image }) };
  const texts = Object.entries(fields).map(([name, value]) => [name, value === undefined ? value : String(value)]);
  return writeForm(Object.fromEntries(texts), { image: imageFile(image.bytes) });
}

/** The first bytes of each format that providers take. */
const formats: readonly [name: string, type: string, isOne: (text: string) => boolean][] = [
  ["image.png", "image/png", (text) => text.startsWith("\u0089PNG")],
  ["image.jpg", "image/jpeg", (text) => text.startsWith("\u00ff\u00d8\u00ff")],
  ["image.webp", "image/webp", (text) => text.startsWith("RIFF") && text.slice(8, 12) === "WEBP"],
];

function imageFile(bytes: Uint8Array) {
  const text = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  const [name, type] = formats.find(([, , isOne]) => isOne(text)) ?? [];
  if (name === undefined || type === undefined) {
    return fail("invalid_request", "The file `image` must be PNG, JPEG or WebP.", { param: "image" });
  }
  return { name, type, bytes };
}
