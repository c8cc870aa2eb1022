import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { ask as askDevnet } from "@inference/devnet/ask";
import { type Devnet, startDevnet } from "@inference/devnet/devnet";
import { anyPorts, deployedFolder } from "@inference/devnet/testing/launch";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { createAgent, setReserve, stake } from "@inference/sdk/agents";
import { connect } from "@inference/sdk/connection";
import type { Browser, Page } from "playwright-core";
import { createPublicClient, createTestClient, createWalletClient, http } from "viem";
import { mnemonicToAccount, privateKeyToAccount } from "viem/accounts";
import { buildDashboard } from "./build/build.ts";
import { leftUsd } from "./format.ts";
import {
  axeFindings,
  beginReloads,
  missingChromium,
  openBrowser,
  openPage,
  overflow,
  reloadedStates,
  setRule,
} from "./testing/browser.ts";
import { sellTokens } from "./testing/market.ts";
import { announceSafe } from "./testing/safe.ts";

/** The dashboard in a browser, over the devnet's gateway, chains and wallets. */
const CHAINS = { 31337: "Primary", 31338: "Secondary 1", 31339: "Secondary 2" } as const;
type ChainId = keyof typeof CHAINS;
/** Of the development chains. */
const MNEMONIC = "test test test test test test test test test test test junk";
const isDeep = process.env.DEEP === "1";

describe("the dashboard in Chromium", { skip: missingChromium, timeout: 400_000 }, () => {
  const folder = deployedFolder();
  let devnet: Devnet;
  let browser: Browser;
  let url: string;

  before(async () => {
    await buildDashboard();
    [devnet, browser] = await Promise.all([
      startDevnet({ environment: { ...process.env, ...anyPorts, DEVNET_DIR: folder.path } }),
      openBrowser(),
    ]);
    url = devnet.ready.gatewayUrl;
  });
  after(async () => {
    await browser?.close();
    await devnet?.stop();
    folder.remove();
  });

  const go = (page: Page, place: string) => page.goto(`${url}/#/${place}`);
  const main = (page: Page) => page.getByRole("main");
  const click = (page: Page, name: string | RegExp) => main(page).getByRole("button", { name, exact: true }).click();

  async function pay(page: Page, chainId: ChainId, dollars: string): Promise<void> {
    await page.getByLabel(CHAINS[chainId]).check();
    await page.getByRole("textbox", { name: "Dollars" }).fill(dollars);
    await click(page, /^Add \$/);
  }

  function call(path: string, bearer: string, body?: object): Promise<Response> {
    return fetch(`${url}/api/v1/${path}`, {
      headers: { "content-type": "application/json", authorization: `Bearer ${bearer}` },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
  }

  /** A request of the key that the devnet gives. Its account is that of the wallet with a balance. */
  async function ask(): Promise<string> {
    const answer = await call("chat/completions", devnet.ready.apiKey, CHAT);
    equal(answer.status, 200, await answer.text());
    return answer.headers.get("x-request-id") ?? "";
  }

  const added = (page: Page) => page.getByRole("heading", { name: /added$/ }).waitFor({ timeout: 60_000 });

  function chainOf(chainId: ChainId): Devnet["ready"]["chains"][number] {
    const chain = devnet.ready.chains.find((each) => each.chainId === chainId);
    ok(chain);
    return chain;
  }

  /** What the wallet has on a chain, in 1e-6 dollar, and how many transactions it has sent. */
  async function fundsOf(chainId: ChainId): Promise<{ dollars: bigint; tokens: bigint; sent: number }> {
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

  test("the first view needs at most 170 kB of script, and nothing from elsewhere", async () => {
    const { page, problems, scriptBytes, close } = await openPage(browser);
    await go(page, "");
    await main(page).getByText("every dollar is there").waitFor();
    await page.getByRole("button", { name: "Connect a wallet" }).waitFor();
    const bytes = await scriptBytes();
    ok(bytes > 50_000 && bytes <= 170_000, `${bytes} bytes`);
    deepEqual(problems, []);
    await close();
  });

  test("the quote box says what a request costs at most", async () => {
    const { page, close } = await openPage(browser);
    await go(page, "models");
    await page.getByRole("combobox", { name: "Model" }).selectOption("alder-120b");
    await page.getByLabel("Tokens that you send").fill("1000");
    await page.getByLabel("Tokens that come back").fill("2000");
    await page.getByText("$0.0054", { exact: true }).waitFor();
    await close();
  });

  test("a wallet that is chosen at the top of the page closes the list of wallets", async () => {
    const { page, close } = await openPage(browser);
    await go(page, "");
    await page.getByRole("button", { name: "Connect a wallet" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Development wallet", exact: true }).click();
    await dialog.waitFor({ state: "hidden" });
    await close();
  });

  // The others are reached below, with reloads.
  for (const chainId of [31_337, 31_338, 31_339] as const) {
    test(`from no wallet to an answered request, with dollars of chain ${chainId}`, async () => {
      const { page, problems, close } = await openPage(browser);
      await go(page, "dollars");
      await click(page, "Development wallet");
      await pay(page, chainId, "3");
      await added(page);
      await page.getByRole("link", { name: "Make a key" }).click();
      await page.getByLabel("Name").fill(`chain ${chainId}`);
      await click(page, "Next: see what you sign");
      const text = await main(page).locator("pre").innerText();
      match(text, /wants you to sign in with your Ethereum account/);
      match(text, new RegExp(`name=chain%20${chainId}&limit=5.00&limit_reset=monthly`));
      await click(page, "Sign");
      await click(page, "Ask");
      await page.locator("#answer").waitFor();
      deepEqual(problems, []);
      await close();
    });
  }

  describe("loaded again in each state, the page goes on: nothing is paid twice, nothing is lost", () => {
    test("by approval on the primary chain, after a permit that nobody signed", async () => {
      const { page, close } = await openPage(browser);
      await go(page, "dollars");
      await click(page, "Development wallet");
      const before = await fundsOf(31_337);
      await setRule(page, { method: "eth_signTypedData_v4", does: "hang" });
      await pay(page, 31_337, "3");
      await steps(page).waitFor();
      await page.reload();
      await beginReloads(page);
      await click(page, "Pay by approval instead");
      const states = await throughReloads(page);
      const isStep = (state: string) => !state.startsWith("activate waiting");
      deepEqual(states.filter(isStep), [
        ...["approve asked", "approve asked", "approve sent", "approve confirmed"],
        ...["mint asked", "mint asked", "mint sent", "mint confirmed"],
        ...["activate asked", "activate asked", "activate sent", "activate confirmed", "activate final"],
        "activate credited",
      ]);
      deepEqual(await fundsOf(31_337), { ...before, dollars: before.dollars - 3_000_000n, sent: before.sent + 3 });
      await close();
    });

    test("from a secondary chain, in each step of the bridge", async () => {
      const { page, close } = await openPage(browser);
      await go(page, "dollars");
      await click(page, "Development wallet");
      const before = await fundsOf(31_339);
      await beginReloads(page);
      await pay(page, 31_339, "2");
      const states = await throughReloads(page);
      for (const state of ["mint sent", "activateFrom asked", "activateFrom sent", "activateFrom final"]) {
        ok(states.includes(state), state);
      }
      ok(states.filter((state) => state.startsWith("activateFrom waiting")).length >= 1, states.join(", "));
      equal(states.at(-1), "activateFrom credited");
      deepEqual(await fundsOf(31_339), { ...before, dollars: before.dollars - 2_000_000n, sent: before.sent + 2 });
      await close();
    });

    test("in the market, where tokens cost less than a dollar", async () => {
      const { page, close } = await openPage(browser);
      await go(page, "dollars");
      await click(page, "Development wallet");
      await page.getByLabel(CHAINS[31_337]).check();
      await page.getByText("at the moment for more").waitFor();
      ok(await page.getByRole("radio", { name: /^Market/ }).isDisabled());
      const { rpcUrl } = chainOf(31_337);
      const [, , , , seller] = devnet.ready.wallets;
      const contracts = devnet.ready.contracts.primary ?? {};
      await sellTokens({ rpcUrl, contracts, wallet: seller?.address ?? "0x" }, 100_000_000n);
      await page.getByRole("textbox", { name: "Dollars" }).fill("10");
      await page.getByText(/You save about \$1\.\d\d/).waitFor();
      ok(await page.getByRole("radio", { name: /^Market.*cheaper/ }).isChecked());
      const [, limit = ""] = /at most \$(\d+\.\d+)/.exec(await main(page).innerText()) ?? [];
      ok(Number(limit) > 8 && Number(limit) < 9, limit);
      const before = await fundsOf(31_337);
      await beginReloads(page);
      await click(page, "Add $10.00");
      const states = await throughReloads(page);
      deepEqual(states.slice(0, 4), ["buy asked", "buy asked", "buy sent", "buy confirmed"]);
      const after = await fundsOf(31_337);
      const paid = before.dollars - after.dollars;
      ok(paid > 8_000_000n && paid <= BigInt(Math.round(Number(limit) * 1e6)), `${paid} of ${limit}`);
      deepEqual([after.tokens, after.sent], [before.tokens, before.sent + 2]);
      // The price may rise while the wallet waits: then nothing is bought.
      await click(page, "Add more");
      await page.getByRole("textbox", { name: "Dollars" }).fill("10");
      await page.getByText(/You save about/).waitFor();
      await page.evaluate(() => localStorage.removeItem("test-states"));
      await setRule(page, { method: "eth_signTypedData_v4", does: "reject" });
      await click(page, "Add $10.00");
      await page.getByText("You declined in your wallet").waitFor();
      await keepPlan(page, { maxCostToken: "7000000" });
      await page.reload();
      await click(page, "Continue");
      await page.getByText("The market's price has risen above the most that you agreed to.").waitFor();
      await click(page, "Pay $10.00 at the fixed price instead");
      await added(page);
      equal((await fundsOf(31_337)).dollars, after.dollars - 10_000_000n);
      await close();
    });
  });

  const steps = (page: Page) => page.getByRole("list", { name: "Steps" });

  /** Goes on whenever the page waits for it. The states in which it was loaded again. */
  async function throughReloads(page: Page): Promise<string[]> {
    const done = page.getByRole("heading", { name: /added$/ });
    const button = (name: string) => main(page).getByRole("button", { name });
    for (const deadline = Date.now() + 60_000; ; ) {
      if (Date.now() > deadline) throw new Error(`${await reloadedStates(page)}\n${await main(page).innerText()}`);
      await done.or(button("Continue")).or(button("It was not sent")).first().waitFor({ timeout: 60_000 });
      ok(!(await page.getByText("How much?").isVisible()), "the payment was forgotten");
      const states = await reloadedStates(page);
      if (states === undefined) continue;
      if ((await done.isVisible()) && states.at(-1)?.endsWith("credited")) return states;
      const isClosed = states.at(-1)?.endsWith("asked") && states.at(-1) !== states.at(-2);
      const name = isClosed && (await button("It was not sent").isVisible()) ? "It was not sent" : "Continue";
      await button(name)
        .click({ timeout: 500 })
        .catch(() => {});
    }
  }

  /** What the page keeps of a payment, changed. */
  function keepPlan(page: Page, change: object): Promise<void> {
    return page.evaluate((text) => {
      const name = Object.keys(localStorage).find((each) => each.startsWith("dollars:")) ?? "";
      const plan = JSON.parse(localStorage.getItem(name) ?? "{}") as object;
      localStorage.setItem(name, JSON.stringify({ ...plan, ...(JSON.parse(text) as object) }));
    }, JSON.stringify(change));
  }

  test("a Safe pays by approval, is found by what its transactions do, and signs for a key", async () => {
    const { page, problems, close } = await openPage(browser);
    const { rpcUrl } = chainOf(31_337);
    const { protocolSafe: safe = "0x", stablecoin = "0x" } = devnet.ready.contracts.primary ?? {};
    const owner = mnemonicToAccount(MNEMONIC, { addressIndex: 7 }).address;
    await announceSafe(page.context(), { rpcUrl, chainId: 31_337, safe, owner });
    const giver = createWalletClient({ account: devnet.ready.wallets[4]?.address ?? "0x", transport: http(rpcUrl) });
    const gift = {
      address: stablecoin,
      abi: stablecoinAbi,
      functionName: "transfer",
      args: [safe, 9_000_000n],
    } as const;
    await giver.writeContract({ ...gift, chain: null });
    await go(page, "dollars");
    await click(page, "Safe");
    await page.getByLabel(CHAINS[31_338]).check();
    await page.getByText("Your smart account is not on Secondary 1.").waitFor();
    await page.getByLabel(CHAINS[31_337]).check();
    await page.getByText("This is a smart account, such as a Safe.").waitFor();
    await pay(page, 31_337, "2");
    await page.getByText("Activate the tokens").waitFor();
    await page.reload();
    await goOnUntilAdded(page);
    await page.getByRole("link", { name: "Make a key" }).click();
    await page.getByLabel("Name").fill("the Safe's");
    await click(page, "Next: see what you sign");
    await click(page, "Sign");
    await click(page, "Ask");
    await page.locator("#answer").waitFor();
    deepEqual(problems, []);
    await close();
  });

  async function goOnUntilAdded(page: Page): Promise<void> {
    const done = page.getByRole("heading", { name: /added$/ });
    const more = main(page).getByRole("button", { name: "Continue" });
    while (!(await done.isVisible())) {
      await done.or(more).first().waitFor({ timeout: 60_000 });
      if (await more.isVisible()) await more.click({ timeout: 500 }).catch(() => {});
    }
  }

  test("a wallet that declines, or that cannot pay for the transaction, is told what to do", async () => {
    const { page, close } = await openPage(browser);
    await go(page, "dollars");
    await click(page, "Development wallet");
    await setRule(page, { method: "wallet_switchEthereumChain", does: "reject" });
    await page.getByLabel(CHAINS[31_338]).check();
    await page.getByText("Your wallet is on another chain. It will ask you to switch to Secondary 1.").waitFor();
    await pay(page, 31_338, "1");
    await page.getByText("You declined in your wallet").waitFor();
    await click(page, "Cancel");
    await setRule(page, { method: "eth_signTypedData_v4", does: "reject" });
    await pay(page, 31_337, "1");
    await page.getByText("You declined in your wallet").waitFor();
    await click(page, "Cancel");
    const test = createTestClient({ mode: "anvil", transport: http(devnet.ready.chains[0]?.rpcUrl) });
    const address = devnet.ready.wallets[1]?.address ?? "0x";
    await test.setBalance({ address, value: 0n });
    await page.getByLabel("Primary").check();
    await page.getByText("Nothing to pay for transactions with.").waitFor();
    await pay(page, 31_337, "1");
    await page.getByText("Too little to pay for the transaction.").waitFor();
    await test.setBalance({ address, value: 10n ** 18n });
    await click(page, "Try again");
    await added(page);
    await close();
  });

  test("keys are limited, switched off, replaced and deleted", async () => {
    const { page, problems, close } = await openPage(browser);
    await go(page, "keys");
    await click(page, "Development wallet");
    await click(page, "Sign in");
    await page.getByLabel("Name").fill("cli");
    await click(page, "Next: see what you sign");
    await setRule(page, { method: "personal_sign", does: "reject" });
    await click(page, "Sign");
    await page.getByText("You declined in your wallet").waitFor();
    await click(page, "Sign");
    const [first] = await main(page).locator("pre").allInnerTexts();
    await click(page, "I have copied it");
    const key = page.getByRole("region", { name: "Key cli" });
    await key.getByRole("button", { name: "Change the limit" }).click();
    await key.getByLabel("Dollars").fill("2");
    await key.getByRole("button", { name: /lower needs no signature/ }).click();
    await key.getByText("of $2.00 a month").waitFor();
    await key.getByRole("button", { name: "Change the limit" }).click();
    await key.getByLabel("Dollars").fill("9");
    await key.getByRole("button", { name: "Next: see what you sign" }).click();
    match(await key.locator("pre").innerText(), /limit=9&limit_reset=monthly/);
    await key.getByRole("button", { name: "Sign" }).click();
    await key.getByText("of $9.00 a month").waitFor();
    await key.getByRole("button", { name: "Switch off" }).click();
    await key.getByText("switched off").waitFor();
    await key.getByRole("button", { name: "Switch on" }).click();
    await key.getByText("works", { exact: true }).waitFor();
    await key.getByRole("button", { name: "Replace" }).click();
    await key.getByRole("button", { name: "Sign" }).click();
    await key.getByText("Copy it now").waitFor();
    const [second] = await key.locator("pre").allInnerTexts();
    ok(second?.startsWith("ik_") && first !== second);
    await key.getByRole("button", { name: "I have copied it" }).click();
    await key.getByRole("button", { name: "Delete" }).click();
    await key.getByRole("button", { name: "Delete this key" }).click();
    await key.waitFor({ state: "detached" });
    deepEqual(problems, []);
    await close();
  });

  test("what was spent is shown, downloaded, and followed to the public record", async () => {
    const { page, problems, close } = await openPage(browser);
    const receipt = await ask();
    await go(page, "spending");
    await click(page, "Development wallet with a balance");
    await click(page, "Sign in");
    await page.getByRole("heading", { name: "By model" }).waitFor();
    const [session = ""] = await page.evaluate(() => Object.values(sessionStorage) as string[]);
    type Credits = { data: { available_nano_usd: number; total_credits_nano_usd: number } };
    const { data } = (await (await call("credits", session)).json()) as Credits;
    const left = leftUsd(data.available_nano_usd, data.total_credits_nano_usd);
    await page.getByText(left, { exact: true }).waitFor();
    const refused = await (await call("chat/completions", session, CHAT)).text();
    match(refused, /An API key spends the wallet's balance instead.*"capacity_exhausted"/);
    await page.getByLabel("Find").fill(receipt.slice(-8));
    await page.getByRole("link", { name: receipt.slice(-8) }).waitFor();
    const download = page.waitForEvent("download");
    await click(page, "Download as CSV");
    match(readFileSync(await (await download).path(), "utf8"), new RegExp(`^id,.*\\r\\n(.*\\r\\n)*.*${receipt}`));
    await page.getByRole("link", { name: receipt.slice(-8) }).click();
    await page.getByText("in the public record for good").waitFor({ timeout: 60_000 });
    await page.getByRole("link", { name: "Check it yourself" }).click();
    await page.getByLabel("My wallet").first().check();
    await click(page, "Check this receipt");
    await page.getByText("In the public record: right").waitFor();
    await page.getByText("You believe the node of your wallet").waitFor();
    await click(page, "Check everything");
    await page.getByText("What no check shows").waitFor({ timeout: 60_000 });
    await page.getByText("The main chain was read through the service's node.").waitFor();
    equal(await page.getByText(/: wrong$/).count(), 0);
    deepEqual(problems, []);
    await close();
  });

  test("without a wallet a key and a node of one's own are enough to check a receipt", async () => {
    const { page, problems, close } = await openPage(browser);
    const receipt = await ask();
    const node = new URL(devnet.ready.chains[0]?.rpcUrl ?? "");
    // Under another name it is no node that the gateway has named.
    node.hostname = "localhost";
    // A link cannot choose the node.
    await page.goto(`${url}/?node=${encodeURIComponent(node.href)}#/verify?receipt=${receipt}`);
    ok(await page.getByLabel("The service's node").isChecked());
    await page.getByLabel("My own node").check();
    await page.getByText(`The link that opened this page named ${node.host}.`).waitFor();
    await go(page, `verify?receipt=${receipt}`);
    await page.getByLabel("API key that made it").fill(devnet.ready.apiKey);
    await page.getByLabel("My own node").check();
    await page.getByLabel("Address of the node").fill(node.href);
    await click(page, "Open it so");
    await page.getByLabel("API key that made it").fill(devnet.ready.apiKey);
    ok(await page.getByLabel("My own node").isChecked());
    for (;;) {
      await click(page, "Check this receipt");
      const isFinal = page.getByText("In the public record: right");
      await isFinal.or(page.getByText("In the public record: not checked")).waitFor();
      if (await isFinal.isVisible()) break;
      await page.waitForTimeout(2_000);
    }
    await page.getByText(`You believe the node ${node.host}, which you chose`).waitFor();
    deepEqual(
      problems.filter((problem) => !problem.startsWith(node.href)),
      [],
    );
    await close();
  });

  test("a program in a terminal is handed a signed message, which makes the key that it asked for", async () => {
    const { page, problems, close } = await openPage(browser);
    const handed = Promise.withResolvers<string>();
    const server = createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
      response.end("Go back to the terminal.");
      handed.resolve(searchParams.get("code") ?? "");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const callback = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    await go(page, `login?${new URLSearchParams({ callback, state: "its own", name: "terminal", limit: "1.50" })}`);
    await click(page, "Development wallet");
    await click(page, "Sign");
    await click(page, "Go on to the program");
    const { state, message, signature } = JSON.parse(
      Buffer.from(await handed.promise, "base64url").toString("utf8"),
    ) as Record<string, string>;
    equal(state, "its own");
    const answer = await fetch(`${url}/api/v1/keys`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ message, signature }),
    });
    const { data } = (await answer.json()) as { data: { name: string; limit: number } };
    deepEqual([answer.status, data.name, data.limit], [201, "terminal", 1.5]);
    deepEqual(problems, []);
    await close();
    server.close();
    server.closeAllConnections();
  });

  test("nothing is wrong for a screen reader, a keyboard or a small screen", async () => {
    const findings: string[] = [];
    const receipt = await ask();
    for (const colorScheme of isDeep ? (["light", "dark"] as const) : (["light"] as const)) {
      const { page, problems, close } = await openPage(browser, {
        colorScheme,
        viewport: colorScheme === "light" ? { width: 360, height: 740 } : { width: 1280, height: 800 },
      });
      await go(page, "keys");
      await click(page, "Development wallet with a balance");
      await click(page, "Sign in");
      await page.getByRole("heading", { name: "Your keys" }).waitFor();
      const login = "login?callback=http://127.0.0.1:1/&state=abc&name=terminal";
      for (const place of [...PLACES, `receipt/${receipt}`, login]) {
        await go(page, place);
        await page.waitForLoadState("networkidle");
        await main(page).getByRole("heading", { level: 1 }).waitFor();
        findings.push(...(await axeFindings(page)).map((finding) => `${colorScheme} #/${place}: ${finding}`));
        equal(await overflow(page), 0, `${colorScheme} #/${place}`);
      }
      deepEqual(problems, []);
      await close();
    }
    deepEqual(findings, []);
  });

  test("by keyboard alone, the first thing skips the places", async () => {
    const { page, close } = await openPage(browser);
    await go(page, "");
    await main(page).getByRole("heading", { level: 1 }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    equal(await page.evaluate(() => document.activeElement?.id), "main");
    await close();
  });

  test("an owner reads an agent, sells a share of its capacity, and stops", async () => {
    const { privateKey, address } = devnet.ready.wallets[1] ?? { privateKey: "0x", address: "0x" };
    const account = privateKeyToAccount(privateKey);
    const say = () => {};
    await askDevnet(folder.path, { command: "faucet", args: [address], say });
    const client = connect({ gateway: url, account, pollMs: 50 });
    const { agent } = await createAgent(client, { name: "Owl", symbol: "OWL", supply: 1_000n });
    await stake(client, { agentToken: agent.token, amount: 40n * 10n ** 18n, as: "gift" });
    await stake(client, { agentToken: agent.token, amount: 20n * 10n ** 18n, as: "back" });
    await setReserve(client, { agentToken: agent.token, amount: 50n * 10n ** 18n });
    const { page, problems, close } = await openPage(browser);
    await go(page, "agents");
    await click(page, "Development wallet");
    const owl = page.getByRole("region", { name: "Owl" });
    await owl.getByText("yours").waitFor();
    await owl.getByText("What is staked counts from the next day").waitFor();
    await owl.getByText("60 units").waitFor();
    await owl.getByText("20 units of it by backers").waitFor();
    // The gateway starts again on the next day, and an open page would ask for it meanwhile.
    await page.goto("about:blank");
    await askDevnet(folder.path, { command: "day", args: [], say });
    await go(page, "agents");
    await owl.getByText("$50.00").waitFor();
    await owl.getByText("Its owner lets it use 50 units of what is staked.").waitFor();
    for (const place of [agent.token, agent.safe, agent.treasury]) await owl.getByText(place).first().waitFor();
    await owl.getByText("Nobody may sign offers for it yet.").waitFor();
    await owl.getByRole("button", { name: "Sign its offers with this wallet" }).click();
    await owl.getByLabel("Share to sell").fill("40");
    await owl.getByRole("button", { name: "Sign the offer" }).click();
    await owl.getByText("It sells 40 % of each day's capacity.").waitFor();
    await owl.getByText("$20.00").waitFor();
    await ask();
    await page.reload();
    await owl.getByText(/Sold today: \$0\.0\d+ of \$20\.00/).waitFor();
    deepEqual(await axeFindings(page), []);
    await owl.getByRole("button", { name: "Stop selling" }).click();
    await owl.getByText("It sells nothing at the moment.").waitFor();
    deepEqual(problems, []);
    await close();
  });
});

const CHAT = { model: "alder-4b", max_tokens: 20, messages: [{ role: "user", content: "Hello" }] };

/** Every screen, without those whose address names something. */
const PLACES = ["", "models", "dollars", "keys", "spending", "agents", "status", "verify", "nowhere"];
