import { setTimeout as sleep } from "node:timers/promises";
import { connectDeployer, send } from "@inference/contracts/deployer";
import { inferenceSettlementAbi } from "@inference/protocol/abi/inference-settlement";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { tokenMinterAbi } from "@inference/protocol/abi/token-minter";
import type { LocalAccount } from "viem";
import { createSiweMessage, generateSiweNonce } from "viem/siwe";
import type { Chain } from "./chain.ts";
import { type ChainDeployment, contract } from "./deployment.ts";
import { DevnetError, oneLine } from "./devnet-error.ts";

/** A user's actions, through the contracts and the gateway's public API only. */

/** Turns `amount` (1e-6 USD) of the wallet's dollars into credit, unless it has some. */
export async function activate(
  { rpcUrl }: Pick<Chain, "rpcUrl">,
  options: { deployment: Pick<ChainDeployment, "contracts">; wallet: LocalAccount; amount: bigint },
): Promise<void> {
  const { deployment, wallet, amount } = options;
  const payer = await connectDeployer({ rpcUrl, account: wallet });
  const credit = await payer.reader.readContract({
    address: contract(deployment, "inferenceSettlement"),
    abi: inferenceSettlementAbi,
    functionName: "creditNanoUsd",
    args: [wallet.address],
  });
  if (credit > 0n) return;
  const minter = contract(deployment, "tokenMinter");
  const stablecoin = { address: contract(deployment, "stablecoin"), abi: stablecoinAbi } as const;
  await send(payer, { ...stablecoin, functionName: "approve", args: [minter, amount] });
  const minting = { address: minter, abi: tokenMinterAbi, functionName: "mintAndActivate" } as const;
  await send(payer, { ...minting, args: [amount, wallet.address] });
}

/** An API key of the wallet's account, for one signed message. */
export async function requestApiKey(options: {
  gatewayUrl: string;
  chainId: number;
  wallet: LocalAccount;
  name: string;
  /** The gateway's time, in milliseconds since the epoch. */
  now: number;
}): Promise<string> {
  const { gatewayUrl, chainId, wallet, name, now } = options;
  const message = createSiweMessage({
    domain: new URL(gatewayUrl).host,
    address: wallet.address,
    uri: gatewayUrl,
    version: "1",
    chainId,
    nonce: generateSiweNonce(),
    issuedAt: new Date(now),
    resources: [`${gatewayUrl}/api/v1/keys?name=${encodeURIComponent(name)}`],
  });
  const signature = await wallet.signMessage({ message });
  const { status, body } = await call(`${gatewayUrl}/api/v1/keys`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ message, signature }),
  });
  const { key, error } = body as { key?: string; error?: { message: string } };
  if (key === undefined) throw new DevnetError(`The gateway made no API key (${status}): ${error?.message}`);
  return key;
}

/** The balance of the key's account in nano-dollars; undefined if the gateway does not know the key. */
export async function readBalance(gatewayUrl: string, apiKey: string): Promise<number | undefined> {
  const { status, body } = await call(`${gatewayUrl}/api/v1/credits`, {
    headers: { authorization: `Bearer ${apiKey}` },
  });
  if (status === 401) return undefined;
  const { data } = body as { data?: { total_credits_nano_usd: number; total_usage_nano_usd: number } };
  if (data === undefined) throw new DevnetError(`The gateway does not tell its credits (${status}).`);
  return data.total_credits_nano_usd - data.total_usage_nano_usd;
}

const CREDIT_MS = 15_000;

/** Waits until the gateway has seen the activation. */
export async function awaitCredit(gatewayUrl: string, apiKey: string): Promise<void> {
  const deadline = performance.now() + CREDIT_MS;
  while (((await readBalance(gatewayUrl, apiKey)) ?? 0) <= 0) {
    if (performance.now() > deadline) throw new DevnetError("The gateway has not credited the activation in time.");
    await sleep(50);
  }
}

/** The model of the example: of those that write text for money, the cheapest. */
export async function exampleModel(gatewayUrl: string): Promise<string> {
  const { body } = await call(`${gatewayUrl}/api/v1/models`);
  const { data = [] } = body as { data?: ListedModel[] };
  const [model] = data
    .filter(({ type, pricing }) => type === "text" && Number(pricing.completion) > 0)
    .sort((one, other) => Number(one.pricing.completion) - Number(other.pricing.completion));
  if (model === undefined) throw new DevnetError("The provider's catalogue has no text model with a price.");
  return model.id;
}

type ListedModel = { id: string; type: string; pricing: { completion: string } };

async function call(url: string, init: RequestInit = {}): Promise<{ status: number; body: unknown }> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(10_000) });
    return { status: response.status, body: await response.json() };
  } catch (error) {
    throw new DevnetError(`The gateway does not answer ${new URL(url).pathname}: ${oneLine(error)}`);
  }
}
