import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";
import { parseDecimal } from "@inference/protocol/money";
import { inDeepRun } from "@inference/protocol/testing/deep";
import { listenLocally } from "@inference/protocol/testing/local-server";
import type { Page } from "playwright-core";
import { createTestClient, http } from "viem";
import { usd } from "./format.ts";
import { missingChromium, setRule, type WatchedPage } from "./testing/browser.ts";
import { chatTests, modelTests } from "./testing/chat-suite.ts";
import {
  added,
  ask,
  CHAINS,
  CHAT,
  call,
  click,
  devnet,
  go,
  main,
  openAs,
  openWindow,
  pay,
  startStage,
  url,
} from "./testing/stage.ts";

/** The common flows. The rest is in dashboard.deep.test.ts. */
const ACTIVATED_FROM = process.env.DEEP === "1" ? ([31_337, 31_338, 31_339] as const) : ([31_338] as const);

describe("the dashboard in Chromium", { skip: missingChromium }, () => {
  before(() => startStage());

  describe("in one window", () => {
    let opened: WatchedPage;
    before(async () => {
      opened = await openWindow();
    });
    after(() => opened?.close());

    test("the first view loads at most 120 kB of scripts, all from the gateway", async () => {
      const { page, problems, scriptBytes } = opened;
      await go(page, "");
      await main(page).getByText("reserves, equal to all claims at block").waitFor();
      await page.getByRole("button", { name: "Log in" }).waitFor();
      const bytes = await scriptBytes();
      ok(bytes > 50_000 && bytes <= 120_000, `${bytes} bytes`);
      deepEqual(problems, []);
    });

    test("the first stop of the keyboard skips the navigation", async () => {
      const { page } = opened;
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      equal(await page.evaluate(() => document.activeElement?.id), "main");
    });

    test("a wallet that is chosen once is connected and signed in, and the first page is its account", async () => {
      const { page } = opened;
      await page.getByRole("button", { name: "Log in" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Development wallet", exact: true }).click();
      await page.getByRole("region", { name: "Balance and spend" }).waitFor();
      equal(await page.getByRole("dialog").count(), 0);
      await page
        .getByRole("banner")
        .getByText(/^Balance \$/)
        .waitFor();
    });

    test("the theme stays as it was chosen", async () => {
      const { page } = opened;
      await page.getByRole("button", { name: "Theme: system" }).click();
      await page.goto("about:blank");
      await go(page, "activity");
      await page.getByRole("heading", { name: "Activity" }).waitFor();
      equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
    });
  });

  modelTests();
  chatTests();

  for (const chainId of ACTIVATED_FROM) {
    test(`from no wallet to an answered request, with dollars of chain ${chainId}`, async () => {
      const { page, end } = await openAs("funds");
      await pay(page, chainId, "3");
      await added(page);
      await page.getByRole("link", { name: "Create a key" }).click();
      const key = await createKey(page, `chain ${chainId}`, async () => {
        await page.getByText("Text to sign").click();
        await main(page)
          .getByText(/wants you to sign in with your Ethereum account/)
          .waitFor();
        const text = await main(page).locator("details pre").innerText();
        match(text, new RegExp(`name=chain%20${chainId}&limit=5.00&limit_reset=monthly`));
      });
      equal((await call("chat/completions", key, CHAT)).status, 200);
      await end();
    });
  }

  test("a wallet that declines, or that cannot pay for the transaction, is told what to do", inDeepRun, async () => {
    const { page, close } = await openAs("funds");
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

  test("keys are limited, disabled, rotated and deleted", async () => {
    const { page, end } = await openAs("keys/new");
    const first = await createKey(page, "cli", async () => {
      await page.getByRole("heading", { name: "Key cli: at most $5.00 a month, any model, no expiry" }).waitFor();
      await setRule(page, { method: "personal_sign", does: "reject" });
      await click(page, "Sign and create key");
      await page.getByText("You declined in your wallet").waitFor();
    });
    await click(page, "I have copied it");
    const row = page.getByRole("row", { name: /^cli/ });
    await go(page, "keys?find=another");
    await page.getByLabel("Find by name or prefix").waitFor();
    await jump(page, "cli", /^cli /);
    const dialog = page.getByRole("dialog");
    const choose = async (name: string): Promise<void> => {
      await row.getByRole("button", { name: "Actions for cli" }).click();
      await page.getByRole("menuitem", { name }).click();
    };
    await choose("Edit limit");
    await dialog.getByLabel("Dollars").fill("2");
    await dialog.getByRole("button", { name: /lower needs no signature/ }).click();
    await row.getByText("of $2.00 a month").waitFor();
    await choose("Edit limit");
    await dialog.getByLabel("Dollars").fill("9");
    await dialog.getByRole("button", { name: "Next: see what you sign" }).click();
    match(await dialog.locator("pre").innerText(), /limit=9&limit_reset=monthly/);
    await dialog.getByRole("button", { name: "Sign" }).click();
    await row.getByText("of $9.00 a month").waitFor();
    await choose("Disable");
    await row.getByText("Disabled", { exact: true }).waitFor();
    await choose("Enable");
    await row.getByText("Active", { exact: true }).waitFor();
    await choose("Rotate");
    await dialog.getByRole("button", { name: "Sign" }).click();
    await dialog.getByText("Copy it now").waitFor();
    const second = await dialog.locator("#key").innerText();
    ok(second.startsWith("ik_") && first !== second);
    await dialog.getByRole("button", { name: "I have copied it" }).click();
    await choose("Delete");
    await dialog.getByRole("button", { name: "Delete this key" }).click();
    await row.waitFor({ state: "detached" });
    await end();
  });

  /** Finds something with the command menu, and goes there. */
  async function jump(page: Page, text: string, name: string | RegExp): Promise<void> {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search or jump to" }).fill(text);
    await page.getByRole("option", { name }).click();
  }

  /** Fills the form, and returns the key that is shown once. @param then Before the wallet signs. */
  async function createKey(page: Page, name: string, then: () => Promise<void>): Promise<string> {
    await page.getByRole("textbox", { name: "Name" }).fill(name);
    await then();
    await click(page, "Sign and create key");
    await page.getByText("Copy it now").waitFor();
    return page.locator("#key").innerText();
  }

  test("a webhook is added with its secret, tested and removed", inDeepRun, async () => {
    const { page, end } = await openAs("settings");
    await using receiver = await listenLocally(createServer((_, response) => response.writeHead(204).end()));
    const hook = `${receiver.url}/`;
    await main(page).getByText("Add a webhook").click();
    await page.getByLabel("URL").fill(hook);
    await page.getByLabel("Agent's offer ended").uncheck();
    await page.getByLabel("Balance below, in dollars").fill("2.5");
    await click(page, "Add");
    await page.getByText(/^whsec_/).waitFor();
    await click(page, "I have copied it");
    const webhook = page.getByRole("region", { name: `Webhook ${hook}` });
    await webhook.getByText("Balance below $2.50, Key at 80 % of its limit, ").waitFor();
    await webhook.getByRole("button", { name: "Send a test" }).click();
    await webhook.getByText("delivered: 204").waitFor();
    await webhook.getByRole("button", { name: "Remove" }).click();
    await webhook.waitFor({ state: "detached" });
    await end();
  });

  test("spending is shown in figures that add up, downloaded, and followed to the chain", async () => {
    const receipt = await ask();
    const { page, end } = await openAs("activity", "Development wallet with a balance");
    const spend = page.getByRole("region", { name: "Spend", exact: true });
    await spend.waitFor();
    const session = await page.evaluate(() =>
      sessionStorage.getItem(Object.keys(sessionStorage).find((name) => name.startsWith("session:")) ?? ""),
    );
    const { data } = (await (await call("credits", session ?? "")).json()) as { data: { available_nano_usd: number } };
    await page
      .getByRole("banner")
      .getByText(`Balance ${usd(data.available_nano_usd)}`, { exact: true })
      .waitFor();
    const refused = await (await call("chat/completions", session ?? "", CHAT)).text();
    match(refused, /An API key spends the wallet's balance instead.*"capacity_exhausted"/);
    for (const by of ["Model", "Key", "Tag"]) {
      await page.getByRole("group", { name: "Group by" }).getByText(by).click();
      const [total = 0n, ...sums] = (await spend.locator(".figure .amount, .legend .amount").allInnerTexts()).map(
        nanoOf,
      );
      ok(total > 0n);
      equal(
        sums.reduce((sum, each) => sum + each, 0n),
        total,
        by,
      );
    }
    await spend.getByRole("slider").focus();
    await page.keyboard.press("ArrowLeft");
    match((await spend.getByRole("slider").getAttribute("aria-valuetext")) ?? "", /: \$0\.\d+$/);
    const exportReceipts = async (): Promise<void> => {
      await click(page, "Export");
      await page.getByRole("menuitem", { name: "Receipts as CSV" }).click();
    };
    await page.route("**/api/v1/activity?*format=csv*", (route) => route.fulfill({ status: 404, body: "<html>" }));
    await exportReceipts();
    await page.getByText(/activity\S* answered 404, and not as a gateway does\.$/).waitFor();
    await page.unrouteAll();
    const download = page.waitForEvent("download");
    await exportReceipts();
    match(readFileSync(await (await download).path(), "utf8"), new RegExp(`^id,.*\\r\\n(.*\\r\\n)*.*${receipt}`));
    await jump(page, receipt, `Receipt ${receipt}`);
    const panel = page.getByRole("region", { name: "Receipt", exact: true });
    await panel.getByText("The charge is in a final block.").waitFor();
    // The lines of the charge need the prices, which are read after the receipt.
    const lastCells = panel.locator("table td:last-child");
    await lastCells.first().waitFor();
    const amounts = (await lastCells.allInnerTexts()).map(nanoOf);
    equal(
      amounts.slice(0, -1).reduce((sum, each) => sum + each, 0n),
      amounts.at(-1),
    );
    await panel.getByRole("button", { name: "Verify this" }).click();
    await panel.getByText("3 of 3 checks passed.").waitFor();
    await panel.getByRole("link", { name: "Check with your own node" }).click();
    await page.getByLabel("My wallet").check();
    await click(page, "Check this receipt");
    await page.getByRole("heading", { name: "3 of 3 checks passed" }).waitFor();
    await main(page).getByText("The chain was read through the node of your wallet.").waitFor();
    await page
      .getByLabel("Settlement contract that you trust")
      .fill(devnet.ready.contracts.primary?.inferenceSettlement ?? "");
    await click(page, "Check my account");
    await page
      .getByRole("heading", { name: /^(\d+) of \1 checks passed/ })
      .nth(1)
      .waitFor();
    await page
      .getByText(/Every charge on chain is proved: \$\d.*The chain was read through the node of your wallet/)
      .waitFor();
    const [sum = 0n, ...less] = (await page.locator(".equation .amount").allInnerTexts()).map(nanoOf);
    equal(sum - less.slice(0, -1).reduce((all, each) => all + each, 0n), less.at(-1));
    await go(page, "status");
    await page.getByRole("heading", { name: /^(\$[\d,.]+) held = \1 claimed$/ }).waitFor();
    for (const side of await page.locator(".side-sums").all()) {
      const lines = (await side.locator(".amount").allInnerTexts()).map(nanoOf);
      equal(
        lines.slice(0, -1).reduce((all, each) => all + each, 0n),
        lines.at(-1),
      );
    }
    await end();
  });

  test("a program in a terminal gets a signed message, which makes its key", inDeepRun, async () => {
    const handed = Promise.withResolvers<string>();
    const program = createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
      response.end("Go back to the terminal.");
      handed.resolve(searchParams.get("code") ?? "");
    });
    await using listening = await listenLocally(program);
    const callback = `${listening.url}/`;
    const asked = new URLSearchParams({ callback, state: "its own", name: "terminal", limit: "1.50" });
    const { page, end } = await openAs(`login?${asked}`);
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
    await end();
  });
});

/** The nano-dollars of an amount as it is shown, in a billionth of a nano-dollar where a price has more digits. */
function nanoOf(text: string): bigint {
  const amount = parseDecimal(text.replace(/[$,]/g, ""), 18);
  ok(amount !== undefined, `${text} is no amount`);
  return amount;
}
