import { type Address, isAddress } from "@inference/protocol/credential";
import { ownValue } from "@inference/protocol/own-value";
import * as z from "zod";
import { parseJson } from "./json-object.ts";

/** The public form of a chain with the token's contracts. */
export type KnownChain = {
  chainId: number;
  /** The primary chain settles activations; from a secondary chain they travel there as messages. */
  role: "primary" | "secondary";
  name: string | null;
  /** The chain's LayerZero endpoint id; null if the operator did not configure one. */
  eid: number | null;
  /** A public node of the chain; null if the operator did not configure one. */
  rpcUrl: string | null;
  /** The stablecoin that the minter takes. Its address is in `contracts`. */
  stablecoin: { decimals: number; symbol: string | null } | null;
  /** A block before the first event of the contracts; 0 if the operator did not name one. */
  startBlock: number;
  contracts: Readonly<Record<string, Address>>;
};

const address = z.custom<Address>((text) => typeof text === "string" && isAddress(text), "is not a 0x address");
const stablecoin = z.object({
  decimals: z.int().min(6).max(36),
  symbol: z.string().min(1).max(32).nullable().default(null),
});
const chain = z.object({
  name: z.string().min(1).max(64).nullable().default(null),
  chainId: z
    .int()
    .min(1)
    .max(2 ** 48),
  // A deployment on one chain alone has endpoint id 0.
  eid: z
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .default(0),
  rpcUrl: z
    .url({ protocol: /^https?$/ })
    .nullable()
    .default(null),
  stablecoin: stablecoin.nullable().default(null),
  block: z.int().min(0).default(0),
  addresses: z.record(z.string().regex(/^[A-Za-z0-9]{1,64}$/), address),
});

/** The chains as `npm run deploy:contracts` prints them. Its other fields are ignored. */
export const chainList = z.string().transform((text, context): ListedChain[] => {
  const list = z.array(chain).min(1).max(16).safeParse(parseJson(text));
  const problem = list.success ? duplicateIn(list.data) : describe(list.error);
  if (list.success && problem === undefined) return list.data;
  context.addIssue(`must be the list of chains that \`npm run deploy:contracts\` prints: ${problem}`);
  return z.NEVER;
});

export type ListedChain = z.infer<typeof chain>;

/**
 * The chains that the gateway knows, the primary chain first.
 *
 * @param primary The primary chain's id, and its values that have settings of their own.
 * @returns `problem` if the list lacks the primary chain, or names another address for a contract than its setting.
 */
export function knownChains(
  primary: Pick<KnownChain, "chainId" | "startBlock" | "contracts">,
  listed: readonly ListedChain[] | undefined,
): { chains: readonly KnownChain[]; problem?: string } {
  const nothing = { name: null, eid: null, rpcUrl: null, stablecoin: null };
  const alone: KnownChain = { ...nothing, ...primary, role: "primary" };
  if (listed === undefined) return { chains: [alone] };
  const own = listed.find(({ chainId }) => chainId === primary.chainId);
  if (own === undefined)
    return { chains: [], problem: `has no chain ${primary.chainId}, which PRIMARY_CHAIN_ID names` };
  for (const [name, address] of Object.entries(primary.contracts)) {
    const other = ownValue(own.addresses, name);
    if (other !== undefined && other.toLowerCase() !== address.toLowerCase()) {
      return { chains: [], problem: `has ${name} at ${other}, and the setting for it says ${address}` };
    }
  }
  const known = ({ addresses, eid, block, ...chain }: ListedChain): KnownChain => ({
    ...chain,
    startBlock: block,
    eid: eid === 0 ? null : eid,
    role: chain.chainId === primary.chainId ? "primary" : "secondary",
    contracts: addresses,
  });
  const first = known(own);
  const others = listed.filter((each) => each !== own).map(known);
  return { chains: [{ ...first, contracts: { ...primary.contracts, ...first.contracts } }, ...others] };
}

function duplicateIn(chains: readonly ListedChain[]): string | undefined {
  const twice = chains.find(({ chainId }, index) => chains.findIndex((other) => other.chainId === chainId) < index);
  return twice === undefined ? undefined : `chain ${twice.chainId} is in it twice`;
}

function describe({ issues: [issue] }: z.ZodError): string {
  const path = issue?.path.map(String).join(".") ?? "";
  return path === "" ? "it is not a JSON list" : `${path}: ${issue?.message}`;
}
