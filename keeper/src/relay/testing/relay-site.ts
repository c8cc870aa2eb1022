import { account } from "@inference/devnet/testing/local-chain";
import { fundDollars } from "@inference/devnet/third-parties/local-chains";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { eventually } from "@inference/protocol/testing/eventually";
import {
  permitTypedData,
  receiveTypedData,
  type TopUpTerms,
  topUpTypedData,
  transferTypedData,
} from "@inference/protocol/top-up";
import {
  type PaymentBody,
  type Relayed,
  type RelayedPayment,
  type RelayQuote,
  relayed,
  relayedPayment,
  relayQuotes,
  type TopUpBody,
} from "@inference/protocol/wire/top-up";
import {
  type Address,
  concatHex,
  encodeFunctionData,
  type Hex,
  keccak256,
  numberToHex,
  parseAbi,
  parseSignature,
  size,
  stringToHex,
  toHex,
} from "viem";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { type Keeper, startKeeper } from "../../keeper.ts";
import type { RelaySettings } from "../../settings.ts";
import {
  alice,
  type ChainSite,
  DOLLAR,
  deployer,
  shareThreeChains,
  type ThreeChains,
} from "../../testing/three-chains.ts";

export const relay = account(2);
const SECRET = "a secret of the relay and its gateway";
const terms = { fee: 20_000n, least: DOLLAR, leastX402: 100_000n, mostWei: 10n ** 17n };
const cancelAbi = parseAbi([
  "function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)",
]);

export type Answer = Partial<RelayedPayment> & { error?: { code: string; message: string } };
export type RelaySite = Awaited<ReturnType<typeof startRelaySite>>;

/** A keeper with a relay, on three local chains with real contracts. The relay's time may be set ahead. */
export async function startRelaySite() {
  const chains: ThreeChains = await shareThreeChains();
  const { primary } = chains.sites;
  const given = chains.settings();
  const key = toHex(relay.getHdKey().privateKey ?? new Uint8Array());
  const own: RelaySettings = { host: "127.0.0.1", port: 0, dailyBudgetWei: 10n ** 19n, key, secret: SECRET };
  const settings = {
    ...{ ...given, pollMs: 60_000 },
    chains: given.chains.map((chain) => ({ ...chain, relay: terms })),
  };
  let keeper: Keeper;
  let url: string;
  const site = {
    ...{
      chains,
      primary,
      databaseFile: given.databaseFile,
      aheadMs: 0,
      events: [] as { level: string; event: string }[],
    },
    ...{ start, restart, stop, quotes, request, topUp, pay, get, state, signed, x402, execute, cancel, mine },
  };
  await start();
  return site;

  async function start(change: Partial<RelaySettings> = {}): Promise<void> {
    keeper = startKeeper(
      { ...settings, relay: { ...own, ...change } },
      {
        now: () => Date.now() + site.aheadMs,
        log: (level, event) => site.events.push({ level, event }),
      },
    );
    url = `http://127.0.0.1:${await keeper.relayPort}`;
  }

  /** The same database: what was accepted goes on. */
  async function restart(change: Partial<RelaySettings> = {}): Promise<void> {
    await keeper.stop();
    await start(change);
  }

  async function stop(): Promise<void> {
    await keeper.stop();
    await chains.revert();
  }

  async function quotes(): Promise<RelayQuote[]> {
    return relayQuotes.parse(await request("GET", "quotes")).chains;
  }

  async function request(method: string, path: string, body?: unknown, secret = SECRET): Promise<Answer> {
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    return (await (await fetch(`${url}/${path}`, { method, headers, ...sent })).json()) as Answer;
  }

  async function topUp(body: TopUpBody): Promise<Relayed> {
    return relayed.parse(await request("POST", "top-ups", body));
  }

  async function pay(body: PaymentBody): Promise<RelayedPayment> {
    return relayedPayment.parse(await request("POST", "payments", body));
  }

  async function get(id: string): Promise<Relayed> {
    return relayed.parse(await request("GET", `payments/${id}`));
  }

  function state(id: string, wanted: Relayed["state"]): Promise<Relayed> {
    return eventually(async () => {
      const found = await get(id);
      return found.state === wanted && found;
    });
  }

  async function signed(on: ChainSite, payer: PrivateKeyAccount, change: Partial<TopUpTerms> = {}): Promise<TopUpBody> {
    const quote = (await quotes()).find(({ chain_id: id }) => id === on.chain.chainId) as RelayQuote;
    const top_up: TopUpTerms = {
      ...{ owner: payer.address, account: payer.address, amount: String(5n * DOLLAR), fee: quote.fee_token },
      ...{ feeTo: quote.fee_to, deadline: Math.floor(Date.now() / 1_000) + 3_600, salt: generatePrivateKey() },
      ...change,
    };
    const base = { chain_id: quote.chain_id, top_up };
    if (quote.method === "authorization") {
      return { ...base, signature: await payer.signTypedData(receiveTypedData(quote, top_up)) };
    }
    const permit = permitTypedData(quote, top_up, { nonce: 0n, deadline: BigInt(top_up.deadline) });
    return {
      ...{ ...base, signature: await payer.signTypedData(topUpTypedData(quote, top_up)) },
      permit: { deadline: top_up.deadline, signature: await payer.signTypedData(permit) },
    };
  }

  /** A payment for one request. */
  async function x402(
    payer: PrivateKeyAccount,
    value = String(DOLLAR),
    change: Partial<PaymentBody["authorization"]> = {},
  ): Promise<PaymentBody> {
    const [quote] = await quotes();
    if (quote?.x402 == null) throw new Error("no x402");
    const authorization = {
      ...{ from: payer.address, to: quote.x402.pay_to, value, validAfter: "0", nonce: generatePrivateKey() },
      // The chain's clock may be ahead.
      validBefore: String(Math.floor(Date.now() / 1_000) + 3_600),
      ...change,
    };
    const signature = await payer.signTypedData(transferTypedData(quote, authorization));
    return { chain_id: quote.chain_id, authorization, signature, fingerprint: fingerprintOf("a request") };
  }

  /** Executes a payment on the stablecoin, without the door, in a transaction with an event of so many bytes. */
  async function execute({ authorization, signature }: PaymentBody, besides = 0): Promise<void> {
    const { from, to, value, validAfter, validBefore, nonce } = authorization;
    const { r, s, yParity } = parseSignature(signature);
    const call = encodeFunctionData({
      ...{ abi: stablecoinAbi, functionName: "transferWithAuthorization" },
      args: [
        ...[from, to as Address, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce, 27 + yParity, r, s],
      ] as never,
    });
    const data = besides === 0 ? call : callAndLog(primary.stablecoin, call, besides);
    const given = besides === 0 ? { to: primary.stablecoin, data } : { data };
    await primary.sent(await primary.client.sendTransaction({ account: alice, ...given }));
  }

  async function cancel(payer: PrivateKeyAccount, nonce: string): Promise<void> {
    const [quote] = await quotes();
    const { name, version, address } = quote?.stablecoin ?? { name: "", version: "", address: "" };
    const signature = await payer.signTypedData({
      domain: { name, version, chainId: primary.chain.chainId, verifyingContract: address as Address },
      types: {
        CancelAuthorization: [
          { name: "authorizer", type: "address" },
          { name: "nonce", type: "bytes32" },
        ],
      },
      primaryType: "CancelAuthorization",
      message: { authorizer: payer.address, nonce: nonce as Hex },
    });
    const { r, s, yParity } = parseSignature(signature);
    const call = { address: primary.stablecoin, abi: cancelAbi, functionName: "cancelAuthorization" } as const;
    const args = [payer.address, nonce as Hex, 27 + yParity, r, s] as const;
    await primary.sent(await primary.client.writeContract({ ...call, account: alice, args }));
  }

  /** Mines what waits, and every later transaction at once. */
  async function mine(): Promise<void> {
    await primary.client.mine({ blocks: 1 });
    await primary.client.setAutomine(true);
  }
}

export async function payerOn(site: ChainSite, dollars: bigint): Promise<PrivateKeyAccount> {
  const payer = privateKeyToAccount(generatePrivateKey());
  await fundDollars(site, { issuer: deployer, to: payer.address, dollars });
  return payer;
}

/** The creation of a contract that makes a call and writes an event of zeros (LOG0). */
function callAndLog(to: Address, call: Hex, bytes: number): Hex {
  const [length, logged] = [numberToHex(size(call), { size: 2 }), numberToHex(bytes, { size: 3 })];
  const code = (offset: number) =>
    concatHex([
      ...(["0x61", length, "0x61", numberToHex(offset, { size: 2 }), "0x600039"] as const),
      ...(["0x60006000", "0x61", length, "0x60006000", "0x73", to, "0x5af150"] as const),
      ...(["0x62", logged, "0x6000a000"] as const),
    ]);
  return concatHex([code(size(code(0))), call]);
}

export function fingerprintOf(text: string): string {
  return keccak256(stringToHex(text));
}

export function sentBy({ client }: ChainSite): Promise<number> {
  return client.getTransactionCount({ address: relay.address });
}
