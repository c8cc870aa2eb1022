import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import {
  domainSeparator,
  encodeFunctionData,
  type Hash,
  type Hex,
  parseSignature,
  type TypedDataDomain,
  zeroAddress,
} from "viem";
import { type ChainClients, chainClients, isContract } from "./chain-clients.ts";
import type { Connection } from "./connection.ts";
import { contractOn } from "./directory.ts";
import { fromWallet } from "./errors.ts";
import { requireAccount, type SendOptions, sendCall } from "./send.ts";

export type MintOptions = SendOptions & {
  /** In token units, 1e-6 dollar. */
  amountToken: bigint;
  /** Absent: the primary chain. */
  chainId?: number;
  /** Who gets the tokens; absent: the account. */
  to?: `0x${string}`;
  /** `permit`: a signature and one transaction. `approve`: two. Absent: `permit` where dollar and account have it. */
  pay?: "permit" | "approve";
};

/** Pays dollars of the chain for as many tokens, one for one. Throws `ContractError`. */
export async function mint(connection: Connection, options: MintOptions): Promise<{ hash: Hash }> {
  const account = requireAccount(connection);
  const { amountToken, to = account.address, pay } = options;
  const clients = await chainClients(connection, options.chainId);
  const minter = contractOn(connection, clients.entry, "tokenMinter");
  const dollar = contractOn(connection, clients.entry, "stablecoin");
  const scale = await clients.reader.readContract({ address: minter, abi: tokenMinterAbi, functionName: "SCALE" });
  const payment: Payment = { clients, minter, dollar, amountDollar: amountToken * scale };
  const chainId = clients.entry.chain_id;
  // The minter takes the signature of a private key, and no contract's.
  const isApproved = pay === "approve" || (await isContract(clients, account.address));
  const domain = isApproved ? null : await permitDomain(payment);
  const name = { abi: tokenMinterAbi, to: minter, moves: { from: zeroAddress, to, amountToken } };
  if (domain !== null) {
    const permit = await signPermit(connection, payment, domain);
    const args = [amountToken, to, permit] as const;
    const data = encodeFunctionData({ abi: tokenMinterAbi, functionName: "mintWithPermit", args });
    return sendCall(connection, { chainId, step: "mint", call: { ...name, data } }, options);
  }
  if (pay === "permit") throw new TypeError(`There is no permit here, on chain ${chainId}: leave out \`pay\`.`);
  await approve(connection, payment, options);
  const data = encodeFunctionData({ abi: tokenMinterAbi, functionName: "mint", args: [amountToken, to] });
  return sendCall(connection, { chainId, step: "mint", call: { ...name, data } }, options);
}

type Payment = {
  clients: ChainClients;
  minter: `0x${string}`;
  dollar: `0x${string}`;
  /** In the dollar's own units. */
  amountDollar: bigint;
};

/** Allows the minter the amount, unless it already may take as much: an interrupted `mint` approves once. */
async function approve(connection: Connection, payment: Payment, options: SendOptions): Promise<void> {
  const { clients, minter, dollar, amountDollar } = payment;
  const { address } = requireAccount(connection);
  const allowed = await clients.reader.readContract({
    ...{ address: dollar, abi: stablecoinAbi, functionName: "allowance", args: [address, minter] },
  });
  if (allowed >= amountDollar) return;
  const data = encodeFunctionData({ abi: stablecoinAbi, functionName: "approve", args: [minter, amountDollar] });
  const call = { to: dollar, data, abi: stablecoinAbi };
  await sendCall(connection, { chainId: clients.entry.chain_id, step: "approve", call }, options);
}

/** The dollar's EIP-712 domain; null if it has none that we can make, and so no permit. */
async function permitDomain({ clients: { reader, entry }, dollar }: Payment): Promise<TypedDataDomain | null> {
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

/** Seconds for which a permit is good. */
const PERMIT_S = 3_600n;

async function signPermit(connection: Connection, payment: Payment, domain: TypedDataDomain) {
  const { clients, minter, dollar, amountDollar } = payment;
  const account = requireAccount(connection);
  const [nonce, { timestamp }] = await Promise.all([
    clients.reader.readContract({
      ...{ address: dollar, abi: stablecoinAbi, functionName: "nonces", args: [account.address] },
    }),
    clients.reader.getBlock(),
  ]);
  const deadline = timestamp + PERMIT_S;
  const message = { owner: account.address, spender: minter, value: amountDollar, nonce, deadline };
  const signature: Hex = await fromWallet(
    account.signTypedData({ domain, types: PERMIT, primaryType: "Permit", message }),
  );
  const { r, s, yParity } = parseSignature(signature);
  return { deadline, v: 27 + yParity, r, s };
}

const PERMIT = {
  Permit: [
    { name: "owner", type: "address" },
    { name: "spender", type: "address" },
    { name: "value", type: "uint256" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
  ],
} as const;
