import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { makeKeccak } from "@inference/protocol/keccak-wasm";
import type { Keccak } from "@inference/protocol/merkle-tree";
import { ownValue } from "@inference/protocol/own-value";
import {
  askChain,
  type ChainOptions,
  type Evidence,
  judge,
  notProven,
  type Verdict,
  verify as verifyAccount,
} from "@inference/sdk";
import { readText } from "../account.ts";
import { command } from "../command.ts";
import { connectAsOwner } from "../connections.ts";
import type { Context } from "../context.ts";
import { CommandError } from "../errors.ts";
import { readLogin } from "../login-state.ts";
import { chainsOf, readPins, signerOptions } from "../options.ts";
import { readReceipts } from "../receipt-log.ts";
import { exitCodeOf, logOption, outputOf, sayNotProven, textOf, verdict } from "../verdict.ts";

type Choice = { rpc?: string[] | undefined; contract?: string[] | undefined; log?: string[] | undefined };

export const verify = command({
  name: "verify",
  about: "check the bill and the books against the chains",
  more:
    "A line for each check says what was found and whom it trusts. Name your own nodes and the settlement contract\n" +
    "(--rpc, --contract, here or at the login): without them the gateway's word is taken for both, and a check says so.\n" +
    "Name a log of your own signed receipts (--log): without it nobody knows which requests are yours.\n" +
    "A file of --save or of `infer bill` is checked without the gateway. --contract names the contract that you trust,\n" +
    "and --rpc a node to ask; without it the file's word is taken for what the chain says.\n" +
    "It ends with 0 if every check passed, and with 3 if one failed or was skipped.",
  arguments: { file: { about: "what was saved before; your account at the gateway without it", optional: true } },
  options: {
    ...signerOptions,
    ...logOption,
    save: { type: "string", value: "file", about: "save all that was looked at" },
  },
  output: verdict,
  async run(context, { arguments: { file }, options }) {
    const keccak = await makeKeccak();
    if (file !== undefined) return outputOf(await judgeFile(context, options, file, keccak));
    const connection = await connectAsOwner(context, options);
    const log = readReceipts(context, options.log);
    sayNotProven(context, notProven({ log, period: null }));
    context.say("Reading the account, its statements and the books of all chains ...");
    const { evidence, ...found } = await verifyAccount(connection, { log: log ?? undefined, keccak });
    if (options.save !== undefined) saveEvidence(context, options.save, evidence);
    return outputOf(found);
  },
  text: textOf,
  exitCode: exitCodeOf,
});

/** Throws `CommandError` if the file cannot be written. */
export function saveEvidence(context: Context, name: string, evidence: Evidence): void {
  const file = resolve(context.workingFolder, name);
  try {
    writeFileSync(file, `${JSON.stringify(evidence)}\n`, { mode: 0o600 });
  } catch (error) {
    throw new CommandError(`${file} cannot be written: ${(error as Error).message}`);
  }
  context.say(`It is in ${file}. \`infer verify ${name}\` checks it without the gateway.`);
}

async function judgeFile(context: Context, choice: Choice, file: string, keccak: Keccak): Promise<Verdict> {
  const kept = readEvidence(resolve(context.workingFolder, file));
  const { transport, contracts } = ownChain(context, choice, kept);
  const log = choice.log === undefined ? kept.log : readReceipts(context, choice.log);
  const isAsked = transport !== undefined;
  sayNotProven(context, notProven({ log, period: kept.period, isUnasked: !isAsked }));
  const evidence = isAsked ? await askChain({ ...kept, log }, transport) : { ...kept, log };
  return judge(evidence, { isBundle: true, isAsked, settlement: contracts?.inferenceSettlement, keccak });
}

/** The node and the contract that the options or the login to the file's gateway name. */
function ownChain(context: Context, choice: Choice, { gateway, contract }: Partial<Evidence>): ChainOptions {
  const login = readLogin(context);
  const pins = readPins(choice, login?.gateway === gateway ? login?.chains : undefined);
  return ownValue(chainsOf(pins), String(contract?.chainId)) ?? {};
}

function readEvidence(file: string): Evidence {
  const text = readText(file);
  try {
    const evidence = JSON.parse(text) as Evidence | null;
    if (evidence?.version === 4) return evidence;
  } catch {}
  throw new CommandError(`${file} was not saved by this version of \`infer verify --save\` or \`infer bill --save\`.`);
}
