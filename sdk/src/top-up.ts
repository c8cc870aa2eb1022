import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { formatDecimal, stablecoinUnits } from "@inference/protocol/money";
import {
  permitTypedData,
  receiveTypedData,
  type TopUpTerms,
  topUpDeadline,
  topUpId,
  topUpTypedData,
  topUpValue,
} from "@inference/protocol/top-up";
import type { Relayed, RelayQuote, TopUpBody } from "@inference/protocol/wire/top-up";
import { bytesToHex, isAddressEqual } from "viem";
import { type ChainClients, chainClients } from "./chain-clients.ts";
import { gatewayTime } from "./clock.ts";
import type { Connection } from "./connection.ts";
import { contractOn } from "./directory.ts";
import { ClientError, fromWallet } from "./errors.ts";
import { requireFunds } from "./funds.ts";
import { createKey, type KeyTerms } from "./keys.ts";
import { pause } from "./pause.ts";
import { dollarScale } from "./pay-dollars.ts";
import { request } from "./request.ts";
import { requireAccount } from "./send.ts";

/** A top-up as its owner signed it, as JSON. It pays once, however often and by whomever it is sent. */
export type SignedTopUp = TopUpBody;
export type TopUp = Relayed;

export type TopUpOptions = {
  /** In token units, 1e-6 dollar. */
  amountToken: bigint;
  /** Where the dollars are; absent: the primary chain. */
  chainId?: number | undefined;
  /** The most that the relay may take for it, in token units: `MAX_FEE_TOKEN`, half a dollar. */
  maxFeeToken?: bigint | undefined;
};

export const MAX_FEE_TOKEN = 500_000n;

export type TopUpWaiting = {
  /** Each state of the top-up that is new. */
  onState?: ((state: TopUp) => void) | undefined;
  signal?: AbortSignal | undefined;
};

/**
 * Signs for a top-up, and sends nothing. The text is made here, and contract, dollar and decimals are checked, so the
 * signature pays at most the amount and the fee. Throws `ClientError` `cost_too_high`, `wrong_contract`,
 * `unknown_chain`, and `ContractError` for too few dollars.
 */
export async function signTopUp(connection: Connection, options: TopUpOptions): Promise<SignedTopUp> {
  const account = requireAccount(connection);
  const clients = await chainClients(connection, options.chainId);
  const quote = await readQuote(connection, clients);
  const fee = BigInt(quote.fee_token);
  const { amountToken, maxFeeToken = MAX_FEE_TOKEN } = options;
  if (fee > maxFeeToken) {
    const [asked, most] = [fee, maxFeeToken].map((token) => formatDecimal(token, 6));
    throw new ClientError("cost_too_high", `The relay takes $${asked} for a top-up, above your limit of $${most}.`);
  }
  const owner = account.address;
  const top_up: TopUpTerms = {
    ...{ owner, account: owner, amount: String(amountToken), fee: quote.fee_token, feeTo: quote.fee_to },
    deadline: topUpDeadline(quote, await gatewayTime(connection)),
    salt: bytesToHex(crypto.getRandomValues(new Uint8Array(32))),
  };
  const dollar = quote.stablecoin.address as `0x${string}`;
  await requireFunds(clients, { owner, token: dollar, amount: topUpValue(quote, top_up), sign: "$" });
  const body = { chain_id: quote.chain_id, top_up };
  if (quote.method === "authorization") {
    return { ...body, signature: await fromWallet(account.signTypedData(receiveTypedData(quote, top_up))) };
  }
  const contract = { address: dollar, abi: stablecoinAbi } as const;
  const nonce = await clients.reader.readContract({ ...contract, functionName: "nonces", args: [owner] });
  const { deadline } = top_up;
  const permit = permitTypedData(quote, top_up, { nonce, deadline: BigInt(deadline) });
  return {
    ...{ ...body, signature: await fromWallet(account.signTypedData(topUpTypedData(quote, top_up))) },
    permit: { deadline, signature: await fromWallet(account.signTypedData(permit)) },
  };
}

/**
 * Sends a signed top-up, and waits until it is in the balance. After any error or interruption call it again with the
 * same one. Throws `RefusedError` if the relay does not take it, and `ClientError` `top_up_failed` once it cannot happen.
 */
export async function sendTopUp(
  connection: Connection,
  signed: SignedTopUp,
  { onState, signal }: TopUpWaiting = {},
): Promise<TopUp> {
  const path = "/api/v1/top-up";
  const id = topUpId(signed.top_up);
  let told = "";
  for (let sent = false; ; await pause(connection.pollMs, signal)) {
    const ask = sent ? ({ signal } as const) : ({ method: "POST", body: signed, signal } as const);
    const { data } = await request<{ data: TopUp }>(connection, sent ? `${path}/${id}` : path, ask);
    sent = true;
    const next = `${data.state} ${data.waits_for}`;
    if (next !== told) onState?.(data);
    told = next;
    if (data.state === "credited") return data;
    if (data.state === "failed" || data.state === "expired") {
      throw new ClientError("top_up_failed", data.reason ?? "The top-up's time has passed.");
    }
  }
}

/** A payment of a program, as JSON: what it has so far. */
export type ProgramPayment = { signed: SignedTopUp | null; apiKey: string | null };

/**
 * From dollars to a key with a balance, by signatures alone. `keep` gets each new state before the next step. With the
 * last one as `kept`, a call after any interruption goes on, or answers the same key; nothing is paid twice.
 */
export async function topUpWithKey(
  connection: Connection,
  options: TopUpOptions &
    TopUpWaiting & {
      terms?: KeyTerms;
      kept?: ProgramPayment | null;
      keep(payment: ProgramPayment): void | Promise<void>;
    },
): Promise<{ apiKey: string; topUp: TopUp }> {
  const { terms, kept, keep } = options;
  const signed = kept?.signed ?? (await signTopUp(connection, options));
  let apiKey = kept?.apiKey ?? null;
  await keep({ signed, apiKey });
  apiKey ??= (await createKey(connection, terms)).key;
  await keep({ signed, apiKey });
  return { apiKey, topUp: await sendTopUp(connection, signed, options) };
}

/** The relay's terms on each chain. */
export async function readQuotes(connection: Connection): Promise<readonly RelayQuote[]> {
  const { data } = await request<{ data: { chains: RelayQuote[] } }>(connection, "/api/v1/top-up");
  return data.chains;
}

/** The relay's terms on a chain, with the contracts that the connection trusts. */
async function readQuote(connection: Connection, clients: ChainClients): Promise<RelayQuote> {
  const { entry } = clients;
  const quote = (await readQuotes(connection)).find(({ chain_id: id }) => id === entry.chain_id);
  if (quote === undefined) {
    const message = `The gateway has no relay on chain ${entry.chain_id}: use \`mint\` and \`activate\`.`;
    throw new ClientError("unknown_chain", message);
  }
  const scale = await dollarScale(connection, clients);
  const { address, decimals } = quote.stablecoin;
  const isOurs =
    isAddressEqual(quote.contract as `0x${string}`, contractOn(connection, entry, "gaslessTopUp")) &&
    isAddressEqual(address as `0x${string}`, contractOn(connection, entry, "stablecoin")) &&
    scale === stablecoinUnits(decimals);
  if (isOurs) return quote;
  const message = `The relay of chain ${entry.chain_id} names another contract or dollar than the directory. Nothing was signed.`;
  throw new ClientError("wrong_contract", message);
}
