/** Checks the code, every contract reference, library, verifier set, peer, role and owner of a chain's contracts. */
import { BaseError, ContractFunctionRevertedError, ContractFunctionZeroDataError, type PublicClient } from "viem";
import type { ChainPlan, PlannedContract } from "./contract-plan.ts";
import { isCodeOf } from "./deployed-code.ts";
import type { DeploymentConfig } from "./deployment-config.ts";
import { type Wire, wiresOf } from "./wires.ts";

type Reader = Pick<PublicClient, "readContract" | "getCode">;

/** Throws {@link WiringError} with all differences, unless the contracts are as a new deployment leaves them. */
export async function verifyChain(config: DeploymentConfig, plan: ChainPlan, reader: Reader): Promise<void> {
  const checks = [
    ...plan.contracts.map((contract) => wrongCode(reader, contract)),
    ...wiresOf(config, plan).map((wire) => mismatch(reader, wire)),
  ];
  const wrong = (await Promise.all(checks)).filter((line) => line !== undefined);
  if (wrong.length > 0) throw new WiringError(plan.name, wrong);
}

async function wrongCode(
  reader: Reader,
  { name, address, creationCode }: PlannedContract,
): Promise<string | undefined> {
  const code = await reader.getCode({ address });
  if (code === undefined) return `there is no ${name} at ${address}`;
  return isCodeOf(code, creationCode) ? undefined : `the code at ${address} is not this version's ${name}`;
}

async function mismatch(reader: Reader, wire: Wire): Promise<string | undefined> {
  const { part, args = [], mayRevert = false, ...call } = wire;
  const what = `${call.functionName}${part === undefined ? "" : `.${part}`}(${args.join(", ")}) of ${call.address}`;
  let whole: unknown;
  try {
    whole = await reader.readContract({ ...call, args });
  } catch (error) {
    if (!hasReverted(error)) throw error;
    return mayRevert ? undefined : `${what} has no answer`;
  }
  if (!("expected" in wire)) return undefined;
  const actual = part === undefined ? whole : (whole as Record<string | number, unknown>)[part];
  return plain(actual) === plain(wire.expected)
    ? undefined
    : `${what} is ${plain(actual)}, not ${plain(wire.expected)}`;
}

/** Whether the node answered that the contract does not exist or the call reverted. */
function hasReverted(error: unknown): boolean {
  const isRefusal = (cause: unknown) =>
    cause instanceof ContractFunctionRevertedError || cause instanceof ContractFunctionZeroDataError;
  return error instanceof BaseError && error.walk(isRefusal) !== null;
}

/** The same text for the same value, with addresses in lower case. */
function plain(value: unknown): string {
  const text = JSON.stringify(value, (_, each) => (typeof each === "bigint" ? String(each) : each));
  return (typeof value === "object" ? text : String(value)).toLowerCase();
}

export class WiringError extends Error {
  override readonly name = "WiringError";
  readonly wrong: readonly string[];

  constructor(chain: string, wrong: readonly string[]) {
    super(`The contracts on ${chain} are wired wrongly: ${wrong.join("; ")}.`);
    this.wrong = wrong;
  }
}
