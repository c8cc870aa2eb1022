import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@inference/protocol/testing/eventually";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { ask } from "../ask.ts";
import { activate, awaitCredit, requestApiKey } from "../customer.ts";
import { ACTIVATED_AMOUNT } from "../devnet.ts";
import type { ReadyFile } from "../ready.ts";

/** A devnet as a test sees it. */
export type TestedDevnet = {
  readonly ready: ReadyFile;
  /** Has its `ready.json`. */
  readonly folder: string;
};

/** The one devnet of all test processes of a run. The runner starts it when the first of them wants it. */
export async function sharedDevnet(): Promise<TestedDevnet> {
  const folder = process.env.TEST_DEVNET;
  if (folder === undefined) throw new Error("TEST_DEVNET is not set: run the tests with `npm test -- <file>`.");
  writeFileSync(join(folder, "wanted"), "");
  const at = (name: string): string => join(folder, name);
  await eventually(() => existsSync(at("ready.json")) || existsSync(at("failed")));
  if (existsSync(at("failed")))
    throw new Error(`The devnet of the tests failed: ${readFileSync(at("failed"), "utf8")}`);
  return { ready: JSON.parse(readFileSync(at("ready.json"), "utf8")) as ReadyFile, folder };
}

/**
 * The shared devnet with wallets that no other test file has, `count` of them or all, each with gas and dollars on every
 * chain, the first with credit and an API key.
 */
export async function shareDevnet(count?: number): Promise<TestedDevnet> {
  const { ready, folder } = await sharedDevnet();
  const wallets = ready.wallets.slice(0, count).map(({ activated }) => {
    const privateKey = generatePrivateKey();
    return { address: privateKeyToAccount(privateKey).address, privateKey, activated };
  });
  for (const { address } of wallets) await ask(folder, { command: "faucet", args: [address], say: () => {} });
  const { gatewayUrl } = ready;
  const wallet = privateKeyToAccount(wallets[0]?.privateKey ?? "0x");
  const { rpcUrl, chainId } = ready.chains[0] ?? { rpcUrl: "", chainId: 0 };
  const deployment = { contracts: ready.contracts.primary ?? {} };
  await activate({ rpcUrl }, { deployment, wallet, amount: ACTIVATED_AMOUNT });
  const apiKey = await requestApiKey({ gatewayUrl, chainId, wallet, name: "devnet", now: Date.now() });
  await awaitCredit(gatewayUrl, apiKey);
  const own = mkdtempSync(join(folder, "share-"));
  const share = { ...ready, wallets, apiKey };
  writeFileSync(join(own, "ready.json"), JSON.stringify(share), { mode: 0o600 });
  return { ready: share, folder: own };
}
