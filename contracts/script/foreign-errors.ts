/**
 * Adds to a contract's ABI the errors of the contracts that it calls. A revert passes through its caller unchanged, and
 * clients can decode it only if the ABI of the contract that they called has the error.
 */
import { npmAbi } from "./npm-artifact.ts";

export interface AbiEntry {
  readonly type: string;
  readonly name?: string;
  readonly inputs?: readonly { readonly type: string }[];
}

export interface BuiltContracts {
  abiOf(contract: string): readonly AbiEntry[];
  /** The Solidity source of one of our contracts; undefined if the contract is not ours. */
  sourceOf(contract: string): string | undefined;
}

const LAYERZERO = [
  "@layerzerolabs/lz-evm-protocol-v2/artifacts/contracts/EndpointV2.sol/EndpointV2.json",
  "@layerzerolabs/lz-evm-messagelib-v2/artifacts/contracts/uln/uln302/SendUln302.sol/SendUln302.json",
  "@layerzerolabs/lz-evm-messagelib-v2/artifacts/contracts/uln/uln302/ReceiveUln302.sol/ReceiveUln302.json",
  "@layerzerolabs/lz-evm-messagelib-v2/artifacts/contracts/Executor.sol/Executor.json",
  "@layerzerolabs/lz-evm-messagelib-v2/artifacts/contracts/ExecutorFeeLib.sol/ExecutorFeeLib.json",
  "@layerzerolabs/lz-evm-messagelib-v2/artifacts/contracts/uln/dvn/DVNFeeLib.sol/DVNFeeLib.json",
];
/** Stablecoins and other tokens: most revert with these errors, older ones with text that needs no ABI. */
const ERC20 = ["@openzeppelin/contracts/build/contracts/ERC20Permit.json"];

/** Artifacts of third-party contracts, by the interface or base contract through which ours call them. */
const FOREIGN: Readonly<Record<string, readonly string[]>> = {
  IERC20: ERC20,
  IERC20Metadata: ERC20,
  IStablecoin: ERC20,
  OApp: LAYERZERO,
  IOFT: ["@layerzerolabs/oft-evm/artifacts/OFTCore.sol/OFTCore.json", ...ERC20, ...LAYERZERO],
};
/** Our contracts behind interfaces with a different name. */
const OURS: Readonly<Record<string, string>> = {
  IAgentDirectory: "AgentRegistry",
  IDollarBridge: "OftDollarBridge",
  IInferenceStaking: "InferencePool",
};

/** The ABI of `contract`, followed by the missing errors of the contracts that it calls, directly or indirectly. */
export function withForeignErrors(contract: string, built: BuiltContracts): readonly AbiEntry[] {
  const abi = built.abiOf(contract);
  const own = new Set(errorsIn(abi).map(signatureOf));
  const foreign = new Map<string, AbiEntry>();
  collect(contract, { built, seen: new Set(), foreign });
  const missing = [...foreign].filter(([signature]) => !own.has(signature));
  return [...abi, ...missing.sort(([one], [other]) => (one < other ? -1 : 1)).map(([, error]) => error)];
}

type Collected = { built: BuiltContracts; seen: Set<string>; foreign: Map<string, AbiEntry> };

/** A contract can call only what its source imports. */
function collect(name: string, collected: Collected): void {
  const { built, seen, foreign } = collected;
  if (seen.has(name)) return;
  seen.add(name);
  const add = (abi: readonly AbiEntry[]): void => {
    for (const error of errorsIn(abi)) foreign.set(signatureOf(error), error);
  };
  for (const specifier of FOREIGN[name] ?? []) add(npmAbi(specifier));
  const contract = OURS[name] ?? (built.sourceOf(name) === undefined ? name.replace(/^I(?=[A-Z])/, "") : name);
  const source = built.sourceOf(contract);
  if (source === undefined) return;
  seen.add(contract);
  add(built.abiOf(contract));
  for (const imported of importsOf(source)) collect(imported, collected);
}

function importsOf(source: string): string[] {
  return [...source.matchAll(/^import \{([^}]*)\} from/gm)].flatMap(([, names = ""]) =>
    names.split(",").flatMap((name) => /\w+/.exec(name)?.[0] ?? []),
  );
}

function errorsIn(abi: readonly AbiEntry[]): AbiEntry[] {
  return abi.filter(({ type }) => type === "error");
}

function signatureOf({ name, inputs = [] }: AbiEntry): string {
  return `${name}(${inputs.map(({ type }) => type).join(",")})`;
}
