import type { Verdict } from "@inference/sdk";
import * as z from "zod";
import type { ExitCode, OptionSpecs } from "./command.ts";
import type { Context } from "./context.ts";
import { styled } from "./layout.ts";
import { withDollars } from "./money.ts";
import { onOneLine } from "./printable.ts";

const outcome = z.enum(["pass", "fail", "skipped"]);

export const verdict = z.strictObject({
  outcome,
  checks: z.array(
    z.strictObject({ id: z.string(), title: z.string(), outcome, detail: z.string(), trusts: z.array(z.string()) }),
  ),
  not_proven: z.array(z.string()),
});
type Output = z.infer<typeof verdict>;

export const logOption = {
  log: {
    ...{ type: "string", value: "file", multiple: true },
    about: "your signed receipts, all since the first in it; else those of `infer chat`",
  },
} as const satisfies OptionSpecs;

export function outputOf({ outcome, checks, notProven }: Verdict): Output {
  const listed = checks.map(({ trusts, ...check }) => ({ ...check, trusts: [...trusts] }));
  return { outcome, checks: listed, not_proven: [...notProven] };
}

export function sayNotProven({ say }: Context, lines: readonly string[]): void {
  for (const line of ["No check here can prove:", ...lines.map((line) => `- ${line}`)]) say(line);
}

export function textOf({ outcome, checks }: Output): string {
  return [
    ...checks.map(({ id, title, outcome, detail, trusts }) => {
      const text = `${title}: ${withDollars(onOneLine(detail))}`;
      const trusted = trusts.length === 0 ? "" : `\n${" ".repeat(19)}trusts: ${trusts.join("; ")}`;
      return `${styled(COLORS[outcome], outcome)}${" ".repeat(7 - outcome.length)}  ${id.padEnd(8)}  ${text}${trusted}`;
    }),
    "",
    words[outcome],
  ].join("\n");
}

export function exitCodeOf({ outcome }: Pick<Output, "outcome">): ExitCode {
  return outcome === "pass" ? 0 : 3;
}

const COLORS = { pass: "green", fail: "red", skipped: "yellow" } as const;

const words = {
  pass: "Every check passed.",
  fail: "NOT VERIFIED: a check failed.",
  skipped: "Not verified in full: nothing failed, and a check could not be made.",
};
