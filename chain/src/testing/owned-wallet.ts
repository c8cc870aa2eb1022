import type { Address } from "@inference/protocol/credential";

/** Code of a wallet that accepts every signature (ERC-1271) and says that this is its owner. */
export function ownedWalletCode(owner: Address): string {
  const accepts = `7f1626ba7e${"0".repeat(56)}5f5260205ff3`;
  const owns = `5b73${owner.slice(2).toLowerCase()}5f5260205ff3`;
  // On `owner()` it jumps over the first answer.
  const jump = "5f3560e01c638da5cb5b1460";
  const target = (jump.length + 2 + 2 + accepts.length) / 2;
  return `${jump}${target.toString(16).padStart(2, "0")}57${accepts}${owns}`;
}
