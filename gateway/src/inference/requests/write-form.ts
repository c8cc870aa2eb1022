import { createHash } from "node:crypto";
import { joinBytes } from "../../bytes.ts";

/** A file to send, with a name and a type of ours. */
type SentFile = { name: string; type: string; bytes: Uint8Array };

/**
 * Writes a form anew. The boundary is a digest of all values, so no value can contain it.
 *
 * @param fields Names that the gateway chose; undefined ones are left out.
 */
export function writeForm(
  fields: Readonly<Record<string, string | undefined>>,
  files: Readonly<Record<string, SentFile>>,
): { upstreamBody: Uint8Array; upstreamType: string } {
  const texts = Object.entries(fields).filter(([, value]) => value !== undefined);
  const hash = createHash("sha256").update(JSON.stringify(texts));
  for (const { bytes } of Object.values(files)) hash.update(bytes);
  const boundary = `form-${hash.digest("hex")}`;
  const head = (name: string, more: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`;
  const parts: Uint8Array[] = texts.flatMap(([name, value]) => [Buffer.from(`${head(name, "")}${value}\r\n`)]);
  for (const [name, { name: fileName, type, bytes }] of Object.entries(files)) {
    parts.push(Buffer.from(head(name, `; filename="${fileName}"\r\nContent-Type: ${type}`)));
    parts.push(bytes, Buffer.from("\r\n"));
  }
  parts.push(Buffer.from(`--${boundary}--\r\n`));
  return { upstreamBody: joinBytes(parts), upstreamType: `multipart/form-data; boundary=${boundary}` };
}
