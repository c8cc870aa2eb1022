import { equal, ok } from "node:assert/strict";
import { after, before } from "node:test";
import { type Devnet, startDevnet } from "@inference/devnet/devnet";
import type { ReadyFile } from "@inference/devnet/ready";
import { anyPorts, deployedFolder } from "@inference/devnet/testing/launch";
import { sharedDevnet } from "@inference/devnet/testing/shared-devnet";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { eventually } from "@inference/protocol/testing/eventually";
import type { Connection } from "@inference/sdk/connection";
import { readOffer } from "@inference/sdk/offers";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { createPublicClient, http } from "viem";
import { buildDashboard } from "../build/build.ts";
import { openBrowser, openPage, type WatchedPage } from "./browser.ts";

/** The dashboard in a browser, over the devnet's gateway, chains and wallets. */
export const CHAINS = { 31337: "Primary", 31338: "Secondary 1", 31339: "Secondary 2" } as const;
type ChainId = keyof typeof CHAINS;
export const CHAT = { model: "alder-4b", max_tokens: 20, messages: [{ role: "user", content: "Hello" }] };

export let devnet: { readonly ready: ReadyFile };
/** Of the gateway. */
export let url: string;
let started: Promise<Browser> | undefined;

after(async () => (await started)?.close());

/** One browser and one devnet serve all tests of this process. */
export async function startStage(startDevnet: () => Promise<typeof devnet> = sharedDevnet): Promise<void> {
  started ??= buildDashboard().then(openBrowser);
  [devnet] = await Promise.all([startDevnet(), started]);
  url = devnet.ready.gatewayUrl;
}

/** The stage with a devnet of its own, for tests that halt its relayer or change its day. */
export function ownStage(): { folder: string; readonly devnet: Devnet } {
  const { path: folder, remove } = deployedFolder();
  const environment = { ...process.env, ...anyPorts, DEVNET_DIR: folder };
  let own: Devnet;
  before(() =>
    startStage(async () => {
      own = await startDevnet({ environment, survivesKill: false });
      return own;
    }),
  );
  after(async () => {
    await own?.stop();
    remove();
  });
  return {
    folder,
    get devnet() {
      return own;
    },
  };
}

/** A new window without any state. */
export async function openWindow(options?: BrowserContextOptions): Promise<WatchedPage> {
  return openPage(await (started ?? Promise.reject(new Error("The stage is not started."))), options);
}

/** A new window at a place that a wallet signs in to. */
export async function openAs(place: string, wallet = "Development wallet"): Promise<WatchedPage> {
  const opened = await openWindow();
  await go(opened.page, place);
  await click(opened.page, wallet);
  return opened;
}

export const go = (page: Page, place: string) => page.goto(`${url}/${place}`);
export const main = (page: Page) => page.getByRole("main");
export const click = (page: Page, name: string | RegExp) =>
  main(page).getByRole("button", { name, exact: true }).click();

export async function pay(page: Page, chainId: ChainId, dollars: string): Promise<void> {
  await page.getByLabel(CHAINS[chainId]).check();
  await page.getByRole("textbox", { name: "Dollars" }).fill(dollars);
  await click(page, /^Add \$/);
}

export function call(path: string, bearer: string, body?: object): Promise<Response> {
  return fetch(`${url}/api/v1/${path}`, {
    headers: { "content-type": "application/json", authorization: `Bearer ${bearer}` },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
}

/** A request of the key that the devnet gives. Its account is that of the wallet with a balance. */
export async function ask(): Promise<string> {
  const answer = await call("chat/completions", devnet.ready.apiKey, CHAT);
  equal(answer.status, 200, await answer.text());
  return answer.headers.get("x-request-id") ?? "";
}

/** Asks until the agent has served. */
export const untilSold = (connection: Connection, agentToken: `0x${string}`) =>
  eventually(async () => {
    await ask();
    return (await readOffer(connection, agentToken)).today.sold_nano_usd > 0;
  });

export const added = (page: Page) => page.getByRole("heading", { name: /added$/ }).waitFor();

export function chainOf(chainId: ChainId): ReadyFile["chains"][number] {
  const chain = devnet.ready.chains.find((each) => each.chainId === chainId);
  ok(chain);
  return chain;
}

/** The wallet's dollars and tokens on a chain, in 1e-6 dollar, and its number of sent transactions. */
export async function fundsOf(chainId: ChainId): Promise<{ dollars: bigint; tokens: bigint; sent: number }> {
  const { name, rpcUrl } = chainOf(chainId);
  const reader = createPublicClient({ transport: http(rpcUrl) });
  const { stablecoin = "0x", inferenceToken = "0x" } = devnet.ready.contracts[name] ?? {};
  const wallet = devnet.ready.wallets[1]?.address ?? "0x";
  const balance = (address: `0x${string}`) =>
    reader.readContract({ address, abi: stablecoinAbi, functionName: "balanceOf", args: [wallet] });
  const [dollars, tokens, sent] = await Promise.all([
    ...([balance(stablecoin), balance(inferenceToken)] as const),
    reader.getTransactionCount({ address: wallet }),
  ]);
  return { dollars, tokens, sent };
}
