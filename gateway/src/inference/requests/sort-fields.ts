import { fail } from "@inference/protocol/errors";
import { isJsonObject, type JsonObject } from "../../json-object.ts";

/** A rule for a field that is not sent on: it is dropped if it changes nothing, else refused with a reason. */
export type FieldRule = {
  /** Whether the value changes nothing. The field is then dropped and named in the response. */
  harmless: (value: unknown) => boolean;
  code: "unsupported_parameter" | "unpriced_option";
  /** A sentence that says what to do instead. */
  advice: string;
};

export const nothing = (): boolean => false;
export const oneOf =
  (...values: readonly unknown[]) =>
  (value: unknown): boolean =>
    values.includes(value);

/** Whether a value is an empty list. */
export const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** The rule for a field that is always dropped. */
export const drop: FieldRule = { harmless: () => true, code: "unsupported_parameter", advice: "" };
/** The same for each of these fields. */
export function dropped(...names: readonly string[]): [string, FieldRule][] {
  return names.map((name) => [name, drop]);
}
export function unsupported(advice: string, harmless: FieldRule["harmless"] = nothing): FieldRule {
  return { harmless, code: "unsupported_parameter", advice };
}
export function unpriced(advice: string, harmless: FieldRule["harmless"] = nothing): FieldRule {
  return { harmless, code: "unpriced_option", advice };
}

/** Characters of a field's name that are shown. */
const MAX_NAME = 64;

type SortedFields = { known: JsonObject; ignored: string[] };

/**
 * Sorts a body's fields into those that are sent on (the keys of `shape`), those that are dropped, and those that are
 * refused. Null means absent, as many clients send it. An unknown field is refused, because it may have a price.
 *
 * @param otherwise The rule for a field that is in none of the tables.
 * @param at The path before each name, such as `options.`, if the body is a member of another one.
 */
export function sortFields(
  body: unknown,
  shape: JsonObject,
  rules: ReadonlyMap<string, FieldRule>,
  otherwise?: FieldRule,
  at = "",
): SortedFields {
  if (!isJsonObject(body)) fail("invalid_request", 'The body must be a JSON object, like {"model": "..."}.');
  const known: JsonObject = {};
  const ignored: string[] = [];
  for (const key of Object.keys(body)) {
    const value = body[key];
    if (value === null || value === undefined) continue;
    if (Object.hasOwn(shape, key)) known[key] = value;
    else if ((rules.get(key) ?? otherwise)?.harmless(value) === true) ignored.push(`${at}${key.slice(0, MAX_NAME)}`);
    else refuse(`${at}${key.slice(0, MAX_NAME)}`, rules.get(key));
  }
  return { known, ignored };
}

function refuse(param: string, rule: FieldRule | undefined): never {
  if (rule === undefined) {
    fail("unsupported_parameter", `\`${param}\` is not a parameter of this route. Leave it out.`, { param });
  }
  const what = rule.code === "unpriced_option" ? "has a price that is not modelled here" : "is not supported here";
  fail(rule.code, `\`${param}\` ${what}. ${rule.advice}`, { param });
}
