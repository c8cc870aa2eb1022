/** Contracts that third parties compiled and published on npm. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Address, type Hex, isHex } from "viem";

interface NpmArtifact {
  readonly abi: readonly { readonly type: string }[];
  readonly bytecode: string;
  readonly linkReferences?: Record<
    string,
    Record<string, readonly { readonly start: number; readonly length: number }[]>
  >;
}

/**
 * The creation code in a Hardhat artifact, named like an import, with its `libraries` (name to address) linked. Throws
 * if the package is not installed or a library is missing.
 */
export function npmCreationCode(specifier: string, libraries: Readonly<Record<string, Address>> = {}): Hex {
  const artifact = readArtifact(specifier);
  let code = artifact.bytecode;
  for (const [library, positions] of Object.values(artifact.linkReferences ?? {}).flatMap(Object.entries)) {
    const address = libraries[library];
    if (address === undefined) throw new Error(`${specifier} needs the library ${library}.`);
    for (const { start, length } of positions) {
      const from = 2 + start * 2;
      code = code.slice(0, from) + address.slice(2).toLowerCase() + code.slice(from + length * 2);
    }
  }
  if (!isHex(code, { strict: true })) throw new Error(`${specifier} has no linkable creation code.`);
  return code;
}

/** The ABI in a Hardhat artifact, named like an import. Throws if the package is not installed. */
export function npmAbi(specifier: string): NpmArtifact["abi"] {
  return readArtifact(specifier).abi;
}

function readArtifact(specifier: string): NpmArtifact {
  // Some packages export their artifacts to `require` only.
  return JSON.parse(readFileSync(createRequire(import.meta.url).resolve(specifier), "utf8"));
}
