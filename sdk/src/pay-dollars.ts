import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import { PERMIT } from "@inference/protocol/top-up";
import { domainSeparator, encodeFunctionData, erc20Abi, type Hex, parseSignature, type TypedDataDomain } from "viem";
import { type ChainClients, isContract } from "./chain-clients.ts";
import type { Connection } from "./connection.ts";
import { contractOn } from "./directory.ts";
import { ClientError, fromWallet } from "./errors.ts";
import { requireFunds } from "./funds.ts";
import { requireAccount, type SendOptions, sendCall } from "./send.ts";

/** `permit`: a signature and one transaction. `approve`: two. Absent: `permit` where dollar and account have it. */
export type Pay = "permit" | "approve";

/** What a contract may take. The amount is in the token's own units. */
type Taking = { spender: `0x${string}`; amount: bigint };

/**
 * The dollar's own units in a token unit. Both contracts must agree, because a false minter could name a scale that
 * takes more dollars.
 */
export async function dollarScale(connection: Connection, { entry, reader }: ChainClients): Promise<bigint> {
  const [minter, dollar] = (["tokenMinter", "stablecoin"] as const).map((name) => contractOn(connection, entry, name));
  const [scale, decimals] = await Promise.all([
    reader.readContract({ address: minter as Hex, abi: tokenMinterAbi, functionName: "SCALE" }),
    reader.readContract({ address: dollar as Hex, abi: erc20Abi, functionName: "decimals" }),
  ]);
  if (scale * 10n ** TOKEN_DECIMALS === 10n ** BigInt(decimals)) return scale;
  const message =
    `The minter of chain ${entry.chain_id} takes ${scale} of the dollar's units for a token unit, which does not fit ` +
    `the dollar's ${decimals} decimals. Nothing was signed: the gateway may name a wrong contract.`;
  throw new ClientError("wrong_contract", message);
}

const TOKEN_DECIMALS = 6n;

export type Permit = { deadline: bigint; v: number; r: Hex; s: Hex };

/** Lets a contract take dollars. Returns a permit for the contract's call, or sends an approval and returns null. */
export async function payDollars(
  connection: Connection,
  clients: ChainClients,
  taking: Taking,
  options: SendOptions & { pay?: Pay },
): Promise<Permit | null> {
  const account = requireAccount(connection);
  const dollar = contractOn(connection, clients.entry, "stablecoin");
  await requireFunds(clients, { owner: account.address, token: dollar, amount: taking.amount, sign: "$" });
  // A permit needs the signature of a private key: contracts have none.
  const isApproved = options.pay === "approve" || (await isContract(clients, account.address));
  const domain = isApproved ? null : await permitDomain(clients, dollar);
  if (domain !== null) return signPermit(connection, { ...taking, clients, dollar, domain });
  if (options.pay === "permit") {
    throw new TypeError(`There is no permit here, on chain ${clients.entry.chain_id}: leave out \`pay\`.`);
  }
  await approve(connection, { ...taking, clients, token: dollar }, options);
  return null;
}

/** Approves the amount of a token, unless it is approved already: an interrupted payment approves once. */
export async function approve(
  connection: Connection,
  { clients, token, spender, amount }: Taking & { clients: ChainClients; token: `0x${string}` },
  options: SendOptions,
): Promise<void> {
  const { address } = requireAccount(connection);
  const contract = { address: token, abi: stablecoinAbi } as const;
  const allowed = await clients.reader.readContract({
    ...{ ...contract, functionName: "allowance", args: [address, spender] },
  });
  if (allowed >= amount) return;
  const data = encodeFunctionData({ abi: stablecoinAbi, functionName: "approve", args: [spender, amount] });
  const call = { to: token, data, abi: stablecoinAbi, allows: { dollar: token, spender, amountDollar: amount } };
  await sendCall(connection, { chainId: clients.entry.chain_id, step: "approve", call }, options);
}

/** The dollar's EIP-712 domain; null: unknown, so there is no permit. */
async function permitDomain({ reader, entry }: ChainClients, dollar: `0x${string}`): Promise<TypedDataDomain | null> {
  const contract = { address: dollar, abi: stablecoinAbi } as const;
  try {
    const [name, version, separator] = await Promise.all([
      reader.readContract({ ...contract, functionName: "name" }),
      reader.readContract({ ...contract, functionName: "version" }),
      reader.readContract({ ...contract, functionName: "DOMAIN_SEPARATOR" }),
    ]);
    const domain = { name, version, chainId: entry.chain_id, verifyingContract: dollar };
    return domainSeparator({ domain }) === separator ? domain : null;
  } catch {
    return null;
  }
}

/** The lifetime of a permit, in seconds. */
const PERMIT_S = 3_600n;

async function signPermit(
  connection: Connection,
  {
    clients,
    dollar,
    domain,
    spender,
    amount,
  }: Taking & { clients: ChainClients; dollar: Hex; domain: TypedDataDomain },
): Promise<Permit> {
  const account = requireAccount(connection);
  const [nonce, { timestamp }] = await Promise.all([
    clients.reader.readContract({
      ...{ address: dollar, abi: stablecoinAbi, functionName: "nonces", args: [account.address] },
    }),
    clients.reader.getBlock(),
  ]);
  const deadline = timestamp + PERMIT_S;
  const message = { owner: account.address, spender, value: amount, nonce, deadline };
  const signature: Hex = await fromWallet(
    account.signTypedData({ domain, types: PERMIT, primaryType: "Permit", message }),
  );
  const { r, s, yParity } = parseSignature(signature);
  return { deadline, v: 27 + yParity, r, s };
}
