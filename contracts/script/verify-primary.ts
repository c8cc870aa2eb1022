/** Reads back every wire and role of a deployed primary chain. */
import {
  type Abi,
  type Address,
  keccak256,
  type PublicClient,
  parseAbi,
  stringToHex,
  zeroAddress,
  zeroHash,
} from "viem";
import { create3Factory } from "../generated/create3-factory.ts";
import { inferenceSettlement } from "../generated/inference-settlement.ts";
import { inferenceToken } from "../generated/inference-token.ts";
import { tokenMinter } from "../generated/token-minter.ts";

export interface PrimaryAddresses {
  readonly create3Factory: Address;
  readonly timelockController: Address;
  readonly inferenceToken: Address;
  readonly tokenMinter: Address;
  readonly inferenceSettlement: Address;
  readonly stablecoin: Address;
}

/** Who was to get which role. */
export interface PrimaryTerms {
  readonly deployer: Address;
  readonly proposer: Address;
  readonly guardian: Address;
  readonly settler: Address;
  readonly timelockDelaySeconds: bigint;
}

/** Throws {@link WiringError}, naming all that is wrong, unless the contracts are as a new deployment leaves them. */
export async function verifyPrimary(
  reader: Pick<PublicClient, "readContract">,
  terms: PrimaryTerms,
  addresses: PrimaryAddresses,
): Promise<void> {
  const wires = [...factoryAndTimelock(terms, addresses), ...tokenMinterAndSettlement(terms, addresses)];
  const wrong = (await Promise.all(wires.map((wire) => mismatch(reader, wire)))).filter((line) => line !== undefined);
  if (wrong.length > 0) throw new WiringError(wrong);
}

interface Wire {
  readonly address: Address;
  readonly abi: Abi;
  readonly functionName: string;
  readonly args?: readonly unknown[];
  readonly expected: Address | bigint | number | boolean;
}

const timelockAbi = parseAbi([
  "function getMinDelay() view returns (uint256)",
  "function hasRole(bytes32 role, address account) view returns (bool)",
]);

function factoryAndTimelock(terms: PrimaryTerms, at: PrimaryAddresses): Wire[] {
  const factory = { address: at.create3Factory, abi: create3Factory.abi };
  const timelock = { address: at.timelockController, abi: timelockAbi };
  const hasRole = (role: "ADMIN" | "PROPOSER" | "EXECUTOR", account: Address, expected: boolean): Wire => {
    const id = role === "ADMIN" ? zeroHash : keccak256(stringToHex(`${role}_ROLE`));
    return { ...timelock, functionName: "hasRole", args: [id, account], expected };
  };
  return [
    { ...factory, functionName: "OWNER", expected: terms.deployer },
    { ...factory, functionName: "isSealed", expected: true },
    { ...timelock, functionName: "getMinDelay", expected: terms.timelockDelaySeconds },
    hasRole("PROPOSER", terms.proposer, true),
    hasRole("EXECUTOR", zeroAddress, true),
    hasRole("ADMIN", at.timelockController, true),
    hasRole("ADMIN", terms.deployer, false),
    hasRole("ADMIN", at.create3Factory, false),
  ];
}

function tokenMinterAndSettlement(terms: PrimaryTerms, at: PrimaryAddresses): Wire[] {
  const token = { address: at.inferenceToken, abi: inferenceToken.abi };
  const minter = { address: at.tokenMinter, abi: tokenMinter.abi };
  const settlement = { address: at.inferenceSettlement, abi: inferenceSettlement.abi };
  return [
    { ...token, functionName: "decimals", expected: 6 },
    { ...token, functionName: "MINTER", expected: at.tokenMinter },
    { ...token, functionName: "BRIDGE", expected: zeroAddress },
    { ...token, functionName: "SETTLEMENT", expected: at.inferenceSettlement },
    { ...minter, functionName: "TOKEN", expected: at.inferenceToken },
    { ...minter, functionName: "STABLECOIN", expected: at.stablecoin },
    { ...minter, functionName: "SETTLEMENT", expected: at.inferenceSettlement },
    { ...minter, functionName: "OUTBOX", expected: zeroAddress },
    { ...settlement, functionName: "TOKEN", expected: at.inferenceToken },
    { ...settlement, functionName: "MINTER", expected: at.tokenMinter },
    { ...settlement, functionName: "TIMELOCK", expected: at.timelockController },
    { ...settlement, functionName: "guardian", expected: terms.guardian },
    { ...settlement, functionName: "settler", expected: terms.settler },
    { ...settlement, functionName: "ceilingNanoUsd", expected: 50_000_000_000n },
  ];
}

async function mismatch(
  reader: Pick<PublicClient, "readContract">,
  { expected, args = [], ...wire }: Wire,
): Promise<string | undefined> {
  const actual = await reader.readContract({ ...wire, args });
  if (String(actual).toLowerCase() === String(expected).toLowerCase()) return undefined;
  return `${wire.functionName}(${args.join(", ")}) of ${wire.address} is ${actual}, not ${expected}`;
}

export class WiringError extends Error {
  override readonly name = "WiringError";
  readonly wrong: readonly string[];

  constructor(wrong: readonly string[]) {
    super(`The contracts are wired wrongly: ${wrong.join("; ")}.`);
    this.wrong = wrong;
  }
}
