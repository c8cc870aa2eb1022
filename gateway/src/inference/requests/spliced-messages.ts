import type { JsonObject } from "../../json-object.ts";

/**
 * Writes a body with the messages' bytes as they came, in place of writing them anew.
 *
 * @param fields The body, in which `messages` is replaced.
 */
export function spliceMessages(fields: JsonObject, messages: Uint8Array): Uint8Array {
  const others = JSON.stringify({ ...fields, messages: undefined });
  const start = '{"messages":';
  const end = `,${others.slice(1)}`;
  const body = Buffer.allocUnsafe(start.length + messages.length + Buffer.byteLength(end));
  body.write(start, "latin1");
  body.set(messages, start.length);
  body.write(end, start.length + messages.length);
  return body;
}

/**
 * Whether what was made of a parsed value is the same value, and would be written with as many bytes. Values with
 * numbers count as changed: a number's digits may say more than the double that was read.
 */
export function isUnchanged(given: unknown, made: unknown): boolean {
  if (typeof made === "string" || typeof made === "boolean" || made === null) return given === made;
  if (typeof made !== "object" || typeof given !== "object" || given === null) return false;
  if (Array.isArray(made)) {
    return (
      Array.isArray(given) && given.length === made.length && made.every((item, at) => isUnchanged(given[at], item))
    );
  }
  const [before, after] = [given as JsonObject, made as JsonObject];
  const names = Object.keys(after);
  return (
    !Array.isArray(given) &&
    Object.keys(before).length === names.length &&
    names.every((name) => Object.hasOwn(before, name) && isUnchanged(before[name], after[name]))
  );
}
