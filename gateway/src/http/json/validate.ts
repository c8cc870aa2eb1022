import { type ErrorCode, fail } from "@inference/protocol/errors";
import type * as z from "zod";
import type { JsonObject } from "../../json-object.ts";

/** A place in a body where an invalid value has an error of its own. */
export type FieldRefusal = { at: RegExp; code: ErrorCode; advice: string };

/** Returns the request. Throws for the first invalid value, with its path, such as `messages[0].content`. */
export function validate<T>(schema: z.ZodType<T>, value: unknown, refusals: readonly FieldRefusal[] = []): T {
  const result = schema.safeParse(value);
  return result.success ? result.data : refuse(result.error, [], refusals);
}

/** The same for an object with the schema's fields only. It validates only fields that are present or required. */
export function fieldValidator<S extends z.ZodObject>(
  schema: S,
  refusals: readonly FieldRefusal[],
): (value: JsonObject) => z.infer<S> {
  const fields = Object.entries(schema.shape as Record<string, z.ZodType>).map(([key, field]) => {
    return { key, field, isRequired: !field.safeParse(undefined).success };
  });
  return function validateFields(value) {
    const request: JsonObject = {};
    for (const { key, field, isRequired } of fields) {
      const given = value[key];
      if (!isRequired && given === undefined) continue;
      const result = field.safeParse(given);
      if (!result.success) refuse(result.error, [key], refusals);
      request[key] = result.data;
    }
    return request as z.infer<S>;
  };
}

function refuse(error: z.ZodError, base: readonly PropertyKey[], refusals: readonly FieldRefusal[]): never {
  const issue = innermost(error.issues[0], base);
  if (issue === undefined) fail("invalid_request", "The body is not valid.");
  const param = pathText(issue.path);
  const refusal = refusals.find(({ at }) => at.test(param));
  if (refusal !== undefined) fail(refusal.code, `\`${param}\`: ${refusal.advice}`, { param });
  if (issue.code === "unrecognized_keys") {
    fail("unsupported_parameter", `\`${param}\` is not a parameter of this route. Leave it out.`, { param });
  }
  if (issue.missing) fail("invalid_request", `\`${param}\` is missing. Add it.`, { param });
  fail("invalid_request", `\`${param}\` is not valid: ${issue.message}.`, { param });
}

type Found = { code: string; path: readonly PropertyKey[]; message: string; missing: boolean };

/** The issue to report. A union's issue is that of the branch with the longest path. */
function innermost(issue: z.core.$ZodIssue | undefined, base: readonly PropertyKey[] = []): Found | undefined {
  if (issue === undefined) return undefined;
  const path = [...base, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    return {
      code: issue.code,
      path: [...path, issue.keys[0]?.slice(0, 64) ?? ""],
      message: issue.message,
      missing: false,
    };
  }
  if (issue.code === "invalid_union" && issue.errors.length > 0) {
    const branches = issue.errors.map(([first]) => innermost(first, path)).filter((found) => found !== undefined);
    const furthest = branches.reduce(
      (best, each) => (each.path.length > best.path.length ? each : best),
      branches[0] as Found,
    );
    if (furthest.path.length > path.length || furthest.missing) return furthest;
    return { ...furthest, message: branches.map((branch) => branch.message).join(", or ") };
  }
  if (issue.code === "invalid_union" && "options" in issue && Array.isArray(issue.options)) {
    const message = `expected one of ${issue.options.map((option) => `\`${String(option)}\``).join(", ")}`;
    return { code: issue.code, path, message, missing: false };
  }
  const message = issue.message
    .replace(/^(Invalid input|Invalid option|Too small|Too big): /, "")
    .replace(/^Invalid/, "invalid");
  return { code: issue.code, path, message, missing: message.endsWith("received undefined") };
}

function pathText(path: readonly PropertyKey[]): string {
  let text = "";
  for (const key of path) {
    if (typeof key === "number") text += `[${key}]`;
    else text += text === "" ? String(key) : `.${String(key)}`;
  }
  return text;
}
