import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { type Devnet, startDevnet } from "@inference/devnet/devnet";
import { anyPorts, deployedFolder } from "@inference/devnet/testing/launch";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import type { Browser, Page } from "playwright-core";
import { createPublicClient, createTestClient, http } from "viem";
import { buildDashboard } from "./build/build.ts";
import { axeFindings, missingChromium, openBrowser, openPage, overflow, setRule } from "./testing/browser.ts";

/** The dashboard in a browser, over the devnet's gateway, chains and wallets. */
const CHAINS = { 31337: "Primary", 31338: "Secondary 1", 31339: "Secondary 2" } as const;
type ChainId = keyof typeof CHAINS;
const isDeep = process.env.DEEP === "1";
const IN_DEEP = "npm run test:deep has it";

describe("the dashboard in Chromium", { skip: missingChromium, timeout: 240_000 }, () => {
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

  /** A request of the key that the devnet gives. Its account is that of the wallet with a balance. */
  async function ask(): Promise<string> {
    const body = { model: "alder-4b", max_tokens: 20, messages: [{ role: "user", content: "Hello" }] };
    const answer = await fetch(`${url}/api/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${devnet.ready.apiKey}` },
      body: JSON.stringify(body),
    });
    equal(answer.status, 200, await answer.text());
    return answer.headers.get("x-request-id") ?? "";
  }

  const added = (page: Page) => page.getByRole("heading", { name: /added$/ }).waitFor({ timeout: 60_000 });

  /** What the wallet has on a chain, in the dollar's own units. */
  async function dollarsOf(chainId: ChainId): Promise<bigint> {
    const { name = "", rpcUrl } = devnet.ready.chains.find((chain) => chain.chainId === chainId) ?? {};
    const reader = createPublicClient({ transport: http(rpcUrl) });
    const address = devnet.ready.contracts[name]?.stablecoin ?? "0x";
    const args = [devnet.ready.wallets[1]?.address ?? "0x"] as const;
    return reader.readContract({ address, abi: stablecoinAbi, functionName: "balanceOf", args });
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

  for (const chainId of isDeep ? ([31_337, 31_338, 31_339] as const) : ([31_337, 31_338] as const)) {
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

  describe("a reload, whatever the wallet was doing, pays nothing twice and loses nothing", () => {
    for (const [what, does, method] of [
      ["has paid, and its answer is lost", "silent", "mint"],
      ["was closed without an answer", "hang", "mint"],
      ["has activated, and its answer is lost", "silent", "activate"],
    ] as const) {
      test(`the wallet ${what}`, { skip: does === "hang" && !isDeep && IN_DEEP }, async () => {
        const { page, close } = await openPage(browser);
        await go(page, "dollars");
        await click(page, "Development wallet");
        const before = await dollarsOf(31_337);
        if (method === "activate") {
          // The payment is of two steps: only the second is to be met.
          await setRule(page, { method: "eth_signTypedData_v4", does: "reject" });
          await pay(page, 31_337, "2");
          await page.getByText("You declined in your wallet").waitFor();
          await setRule(page, null);
          await click(page, "Try again");
          await added(page);
          await click(page, "Add more");
        }
        if (method === "activate") {
          await pay(page, 31_337, "1");
          await page.getByText("Activate the tokens").waitFor();
        } else {
          await setRule(page, { method: "eth_sendTransaction", does });
          await pay(page, 31_337, "3");
          await page.getByText("Look at your wallet and confirm there.").waitFor();
        }
        await page.waitForTimeout(300);
        await page.reload();
        if (does === "hang") await click(page, "It was not sent");
        if (method === "mint") await click(page, "Continue");
        else await goOn(page);
        await added(page);
        equal(await dollarsOf(31_337), before - 3_000_000n);
        await close();
      });
    }

    async function goOn(page: Page): Promise<void> {
      const done = page.getByRole("heading", { name: /added$/ });
      const more = main(page).getByRole("button", { name: "Continue" });
      await done.or(more).first().waitFor();
      if (await more.isVisible()) await more.click();
    }
  });

  test("a wallet that declines, or that cannot pay for the transaction, is told what to do", async () => {
    const { page, close } = await openPage(browser);
    await go(page, "dollars");
    await click(page, "Development wallet");
    await setRule(page, { method: "wallet_switchEthereumChain", does: "reject" });
    await pay(page, 31_338, "1");
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
    await page.getByText("the node that you chose").waitFor();
    await click(page, "Check everything");
    await page.getByText("What no check shows").waitFor({ timeout: 60_000 });
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
    await go(page, `verify?receipt=${receipt}`);
    await page.getByLabel("API key that made it").fill(devnet.ready.apiKey);
    await page.getByLabel("My own node").check();
    await page.getByLabel("Address of the node").fill(node.href);
    await click(page, "Open it so");
    await page.getByLabel("API key that made it").fill(devnet.ready.apiKey);
    for (;;) {
      await click(page, "Check this receipt");
      const isFinal = page.getByText("In the public record: right");
      await isFinal.or(page.getByText("In the public record: not checked")).waitFor();
      if (await isFinal.isVisible()) break;
      await page.waitForTimeout(2_000);
    }
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
});

/** Every screen, without those whose address names something. */
const PLACES = ["", "models", "dollars", "keys", "spending", "agents", "status", "verify", "nowhere"];
