import { encodeAbiParameters, type Hex, hashStruct, keccak256 } from "viem";
import type { Address } from "./credential.ts";
import { stablecoinUnits } from "./money.ts";
import type { Authorization, RelayQuote, TopUpBody } from "./wire/top-up.ts";

/** The typed data of payments that a relay sends, and their ids. */
export type TopUpTerms = TopUpBody["top_up"];

const TOP_UP = {
  TopUp: [
    { name: "owner", type: "address" },
    { name: "account", type: "address" },
    { name: "amount", type: "uint256" },
    { name: "fee", type: "uint256" },
    { name: "feeTo", type: "address" },
    { name: "deadline", type: "uint256" },
    { name: "salt", type: "bytes32" },
  ],
} as const;
const AUTHORIZATION = [
  { name: "from", type: "address" },
  { name: "to", type: "address" },
  { name: "value", type: "uint256" },
  { name: "validAfter", type: "uint256" },
  { name: "validBefore", type: "uint256" },
  { name: "nonce", type: "bytes32" },
] as const;
/** The typed data of a dollar's permit (ERC-2612). */
export const PERMIT = {
  Permit: [
    { name: "owner", type: "address" },
    { name: "spender", type: "address" },
    { name: "value", type: "uint256" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
  ],
} as const;

/** A top-up as the contract's struct. */
export function topUpStruct({ owner, account, amount, fee, feeTo, deadline, salt }: TopUpTerms) {
  return {
    ...{ owner: plain(owner), account: plain(account), feeTo: plain(feeTo), salt: salt as Hex },
    ...{ amount: BigInt(amount), fee: BigInt(fee), deadline: BigInt(deadline) },
  };
}

/** `GaslessTopUp.idOf`: its EIP-712 struct hash, which is also the nonce of its authorization. */
export function topUpId(terms: TopUpTerms): Hex {
  return hashStruct({ primaryType: "TopUp", types: TOP_UP, data: topUpStruct(terms) });
}

/** The id of an x402 payment: one for each door, signer and nonce. */
export function paymentId(chainId: number, { from, to, nonce }: Authorization): Hex {
  const types = [{ type: "uint256" }, { type: "address" }, { type: "address" }, { type: "bytes32" }] as const;
  return keccak256(encodeAbiParameters(types, [BigInt(chainId), plain(to), plain(from), nonce as Hex]));
}

/** How long a top-up is valid, in seconds. */
const VALID_S = 3_600;

/** The deadline of a top-up that is signed now, in Unix seconds. */
export function topUpDeadline({ longest_s: longest }: Pick<RelayQuote, "longest_s">, nowMs: number): number {
  return Math.floor(nowMs / 1_000) + Math.min(VALID_S, longest);
}

type Chain = Pick<RelayQuote, "chain_id" | "contract" | "stablecoin">;

/** In units of the stablecoin. */
export function topUpValue({ stablecoin }: Pick<RelayQuote, "stablecoin">, terms: TopUpTerms): bigint {
  return (BigInt(terms.amount) + BigInt(terms.fee)) * stablecoinUnits(stablecoin.decimals);
}

/** The message that the owner signs for a stablecoin with ERC-3009. */
export function receiveTypedData(chain: Chain, terms: TopUpTerms) {
  return {
    domain: stablecoinDomain(chain),
    types: { ReceiveWithAuthorization: AUTHORIZATION },
    primaryType: "ReceiveWithAuthorization",
    message: {
      ...{ from: plain(terms.owner), to: chain.contract as Address, value: topUpValue(chain, terms) },
      ...{ validAfter: 0n, validBefore: BigInt(terms.deadline), nonce: topUpId(terms) },
    },
  } as const;
}

/** The message that an x402 client signs. */
export function transferTypedData(chain: Pick<Chain, "chain_id" | "stablecoin">, given: Authorization) {
  const { from, to, value, validAfter, validBefore, nonce } = given;
  return {
    domain: stablecoinDomain(chain),
    types: { TransferWithAuthorization: AUTHORIZATION },
    primaryType: "TransferWithAuthorization",
    message: {
      ...{ from: plain(from), to: plain(to), value: BigInt(value) },
      ...{ validAfter: BigInt(validAfter), validBefore: BigInt(validBefore), nonce: nonce as Hex },
    },
  } as const;
}

/** The first of the two messages where the stablecoin has permits only. */
export function topUpTypedData({ chain_id: chainId, contract }: Chain, terms: TopUpTerms) {
  return {
    domain: { name: "GaslessTopUp", version: "1", chainId, verifyingContract: contract as Address },
    types: TOP_UP,
    primaryType: "TopUp",
    message: topUpStruct(terms),
  } as const;
}

/** The second one. */
export function permitTypedData(
  chain: Chain,
  terms: TopUpTerms,
  { nonce, deadline }: { nonce: bigint; deadline: bigint },
) {
  return {
    domain: stablecoinDomain(chain),
    types: PERMIT,
    primaryType: "Permit",
    message: {
      ...{ owner: plain(terms.owner), spender: chain.contract as Address, value: topUpValue(chain, terms) },
      ...{ nonce, deadline },
    },
  } as const;
}

function stablecoinDomain({ chain_id: chainId, stablecoin }: Pick<Chain, "chain_id" | "stablecoin">) {
  const { name, version, address } = stablecoin;
  return { name, version, chainId, verifyingContract: address as Address };
}

/** An address without the letters' case, in which viem would look for a checksum. */
function plain(address: string): Address {
  return address.toLowerCase() as Address;
}
