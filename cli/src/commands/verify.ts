import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { ownValue } from "@inference/protocol/own-value";
import { type Evidence, judge, verify as verifyAccount } from "@inference/sdk";
import * as z from "zod";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import type { Context } from "../context.ts";
import { CommandError } from "../errors.ts";
import { readLogin } from "../login-state.ts";
import { readPins, signerOptions } from "../options.ts";

const output = z.strictObject({
  outcome: z.enum(["pass", "fail", "skipped"]),
  checks: z.array(
    z.strictObject({
      id: z.string(),
      title: z.string(),
      outcome: z.enum(["pass", "fail", "skipped"]),
      detail: z.string(),
      trusts: z.array(z.string()),
    }),
  ),
  not_proven: z.array(z.string()),
});

export const verify = command({
  name: "verify",
  about: "check the bill and the books against the chains",
  more:
    "A line for each check says what was found and whom it trusts. Name your own nodes and the settlement contract\n" +
    "(--rpc, --contract, here or at the login): without them the gateway's word is taken for both, and a check says so.\n" +
    "With --bundle, --contract names the contract that you trust: not what the bundle says of itself.\n" +
    "It ends with 0 if every check passed, and with 3 if one failed or was skipped.",
  arguments: {},
  options: {
    ...signerOptions,
    bundle: { type: "string", value: "file", about: "check what was saved before, without a network" },
    save: { type: "string", value: "file", about: "save all that was looked at, for --bundle" },
  },
  output,
  async run(context, { options }) {
    const { bundle, save } = options;
    const fileAt = (name: string): string => resolve(context.workingFolder, name);
    if (bundle !== undefined) {
      const evidence = readBundle(fileAt(bundle));
      return outputOf(judge(evidence, { isBundle: true, settlement: ownSettlement(context, options, evidence) }));
    }
    const connection = await connectAsOwner(context, options);
    context.say("Reading the account, its batches and the books of all chains ...");
    const { evidence, ...verdict } = await verifyAccount(connection);
    if (save !== undefined) {
      writeFileSync(fileAt(save), `${JSON.stringify(evidence)}\n`, { mode: 0o600 });
      context.say(`All that was looked at is in ${fileAt(save)}.`);
    }
    return outputOf(verdict);
  },
  text: ({ outcome, checks, not_proven: notProven }) =>
    [
      ...checks.map(({ id, title, outcome, detail, trusts }) => {
        const trusted = trusts.length === 0 ? "" : `\n${" ".repeat(19)}trusts: ${trusts.join("; ")}`;
        return `${outcome.padEnd(7)}  ${id.padEnd(8)}  ${title}: ${onOneLine(detail)}${trusted}`;
      }),
      "",
      words[outcome],
      "",
      "Not proved:",
      ...notProven.map((line) => `- ${line}`),
    ].join("\n"),
  exitCode: ({ outcome }) => (outcome === "pass" ? 0 : 3),
});

const words = {
  pass: "Every check passed.",
  fail: "NOT VERIFIED: a check failed.",
  skipped: "Not verified in full: nothing failed, and a check could not be made.",
};

/** A name that the gateway tells may not look like a line of the verdict. */
function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}

function outputOf({ outcome, checks, notProven }: ReturnType<typeof judge>): z.input<typeof output> {
  const listed = checks.map(({ trusts, ...check }) => ({ ...check, trusts: [...trusts] }));
  return { outcome, checks: listed, not_proven: [...notProven] };
}

/** The address that is named here, or was at the login to the bundle's gateway. */
function ownSettlement(
  context: Context,
  choice: { rpc?: string[] | undefined; contract?: string[] | undefined },
  { gateway, contract }: Partial<Evidence>,
): `0x${string}` | undefined {
  const login = readLogin(context);
  const pins = readPins(choice, login?.gateway === gateway ? login?.chains : undefined);
  return ownValue(pins, String(contract?.chainId))?.contracts?.inferenceSettlement as `0x${string}` | undefined;
}

function readBundle(file: string): Evidence {
  let evidence: Evidence | null;
  try {
    evidence = JSON.parse(readFileSync(file, "utf8")) as Evidence | null;
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${(error as Error).message}`);
  }
  if (evidence?.version === 3) return evidence;
  throw new CommandError(`${file} was not saved by this version of \`infer verify --save\`.`);
}
