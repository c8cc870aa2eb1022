import { fail } from "@inference/protocol/errors";

/** Refuses a value that the catalogue does not list for the model. */
export function checkListed(param: string, value: string | undefined, listed: readonly string[], id: string): void {
  if (value === undefined || listed.includes(value)) return;
  if (listed.length === 0) {
    fail("unsupported_parameter", `\`${id}\` has no choice of \`${param}\`. Leave it out.`, { param });
  }
  fail("invalid_request", `\`${param}\` of \`${id}\` can be ${listed.join(", ")}.`, { param });
}
