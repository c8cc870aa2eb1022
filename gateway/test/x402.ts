import { createServer } from "node:http";
import { listenLocally } from "@inference/protocol/testing/local-server";
import { paymentId, transferTypedData } from "@inference/protocol/top-up";
import { type Authorization, paymentBody, type Relayed, type RelayQuote } from "@inference/protocol/wire/top-up";
import { type Hex, verifyTypedData } from "viem";
import { generatePrivateKey, type PrivateKeyAccount } from "viem/accounts";
import { activate, type Put } from "./fund.ts";

/**
 * A relay without a chain. It checks signatures, credits the signer once for each nonce, and binds a payment to the
 * request that it first came with, as the keeper's does (`keeper/src/relay/relay.test.ts`).
 */
export type X402Relay = {
  url: string;
  secret: string;
  /** The questions to the relay since the list was emptied. */
  asked: string[];
  /** The relay's treatment of the next payments. */
  does: { credits: "at once" | "later" | "never"; fails: string | null; hangsUp: boolean; quotes: boolean };
  /** Puts a payment on the chain for no request, as anybody can. */
  execute(authorization: Authorization): Promise<void>;
  /** Credits a payment that was made and not credited. */
  credit(authorization: Authorization): Promise<void>;
  /** The last block of the chain whose credits are in the ledger. */
  booked(): number;
  /** How far the gateway's clock is to be ahead. */
  aheadMs: number;
  /** Where credits go: the ledger of the host, once it runs. */
  put: Put;
  stop(): Promise<void>;
};

export const x402Quote: RelayQuote = {
  ...{ chain_id: 31_337, method: "authorization", contract: `0x${"1".repeat(40)}` },
  stablecoin: { address: `0x${"2".repeat(40)}`, name: "USD Coin", version: "2", decimals: 6 },
  ...{ fee_token: "20000", fee_to: `0x${"3".repeat(40)}`, least_token: "1000000", longest_s: 86_400 },
  x402: { pay_to: `0x${"4".repeat(40)}`, least_token: "100000" },
  standing_order: null,
};

export async function startX402Relay(): Promise<X402Relay> {
  const credited = new Map<string, number>();
  const rows = new Map<string, { payment: Relayed; fingerprint: string | null }>();
  const asked: string[] = [];
  const does: X402Relay["does"] = { credits: "at once", fails: null, hangsUp: false, quotes: true };
  let block = 0;
  let booked = 0;

  async function answer(path: string, text: string): Promise<[number, unknown]> {
    if (path === "/quotes" && does.quotes) return [200, { chains: [{ ...x402Quote, chain_id: 1 }, x402Quote] }];
    if (path === "/quotes") return [503, {}];
    if (path.startsWith("/payments/")) {
      // The clock jumps, so the test does not wait for a credit that never comes.
      if (does.credits === "never") made.aheadMs += 30_000;
      return [200, rows.get(path.slice("/payments/".length))?.payment];
    }
    const { authorization, signature, fingerprint } = paymentBody.parse(JSON.parse(text));
    const typedData = transferTypedData(x402Quote, authorization);
    const isSigned = await verifyTypedData({ address: authorization.from as Hex, ...typedData, signature });
    if (!isSigned) return [401, { error: { code: "invalid_signature", message: "The signature is not the payer's." } }];
    const id = paymentId(31_337, authorization);
    if (!rows.has(id)) await execute(authorization, fingerprint);
    const row = rows.get(id);
    return [200, { ...row?.payment, serves: row?.fingerprint === fingerprint }];
  }

  async function execute(authorization: Authorization, fingerprint: string | null): Promise<void> {
    const { from: owner, value } = authorization;
    const id = paymentId(31_337, authorization);
    block += 1;
    const told = does.fails === null ? { state: "confirmed", reason: null } : { state: "failed", reason: does.fails };
    const payment = {
      ...{ id, kind: "x402", chain_id: 31_337, owner, account: owner, amount_token: value, fee_token: "0", ...told },
      ...{ transaction: `0x${"5".repeat(64)}`, block, waits_for: null, expires_at: new Date().toISOString() },
    } as Relayed;
    rows.set(id, { payment, fingerprint });
    if (does.fails !== null || does.credits === "never") return;
    if (does.credits === "later") setTimeout(() => void credit(authorization), 300);
    else await credit(authorization);
  }

  async function credit({ from, value }: Authorization): Promise<void> {
    const payer = from.toLowerCase() as Hex;
    credited.set(payer, (credited.get(payer) ?? 0) + Number(value) * 1_000);
    await activate(made.put, payer, credited.get(payer) ?? 0);
    booked = block;
  }

  const relay = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    asked.push(`${request.method} ${request.url}`);
    const [status, body] = await answer(request.url ?? "", text);
    if (does.hangsUp && request.method === "POST") response.destroy();
    else response.writeHead(status).end(JSON.stringify(body));
  });
  const { url, close } = await listenLocally(relay);
  const made: X402Relay = {
    url,
    secret: "s".repeat(32),
    ...{ asked, does, credit, aheadMs: 0 },
    execute: (authorization) => execute(authorization, null),
    booked: () => booked,
    put: () => Promise.reject(new Error("no host runs")),
    stop: close,
  };
  return made;
}

/** A payment as the official client makes it, with changed terms, for another network, or signed by another. */
export async function x402Payment(
  account: PrivateKeyAccount,
  {
    network = "eip155:31337",
    signer = account,
    ...change
  }: Partial<Authorization> & { network?: string; signer?: PrivateKeyAccount } = {},
) {
  const authorization: Authorization = {
    ...{ from: account.address, to: x402Quote.x402?.pay_to ?? "", value: "100000", validAfter: "0" },
    ...{ nonce: generatePrivateKey(), validBefore: String(Math.floor(Date.now() / 1_000) + 3_600), ...change },
  };
  const signature = await signer.signTypedData(transferTypedData(x402Quote, authorization));
  const accepted = { scheme: "exact", network, asset: x402Quote.stablecoin.address, payTo: x402Quote.x402?.pay_to };
  const header = (given: Hex): Record<string, string> => ({
    "content-type": "application/json",
    "payment-signature": Buffer.from(
      JSON.stringify({ x402Version: 2, accepted, payload: { authorization, signature: given } }),
    ).toString("base64"),
  });
  return { authorization, headers: header(signature), forged: header(`0x${"11".repeat(64)}1b`) };
}

export const x402Chat = (content = "hello", more: object = {}) => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ model: "sim-small", max_tokens: 50, messages: [{ role: "user", content }], ...more }),
});
