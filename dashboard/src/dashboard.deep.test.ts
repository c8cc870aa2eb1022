import { deepEqual, equal, ok } from "node:assert/strict";
import { before, describe, test } from "node:test";
import { ask as askDevnet } from "@inference/devnet/ask";
import { buyToPar, sellTokens } from "@inference/devnet/testing/market";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { eventually } from "@inference/protocol/testing/eventually";
import { createAgent } from "@inference/sdk/agents";
import { readExits } from "@inference/sdk/backing";
import { createClient } from "@inference/sdk/client";
import { mintRewards, ripen } from "@inference/sdk/testing/rewards";
import type { Page } from "playwright-core";
import { createWalletClient, http } from "viem";
import { mnemonicToAccount, privateKeyToAccount } from "viem/accounts";
import {
  axeFindings,
  beginReloads,
  missingChromium,
  overflow,
  reloadedStates,
  setRule,
  unreachable,
} from "./testing/browser.ts";
import { SIZES, THEMES } from "./testing/pictures.ts";
import { announceSafe } from "./testing/safe.ts";
import { type Screen, screensOf, signedOutFirst, signIn, untilShown } from "./testing/screens.ts";
import {
  added,
  ask,
  CHAINS,
  CHAT,
  call,
  chainOf,
  click,
  devnet,
  fundsOf,
  go,
  main,
  openAs,
  openWindow,
  ownStage,
  pay,
  untilSold,
  url,
} from "./testing/stage.ts";

/** The mnemonic of the development chains. */
const MNEMONIC = "test test test test test test test test test test test junk";
const isWaiting = (state: string) => state.startsWith("activateFrom waiting");
/** Interrupted payments, rare flows, and accessibility. */
describe("the dashboard in Chromium, in depth", { skip: missingChromium }, () => {
  /** A devnet of its own: the tests halt its relayer and change its day. */
  const own = ownStage();

  describe("loaded again in each state, the page continues: nothing is paid twice, nothing is lost", () => {
    test("by approval on the primary chain, after a permit that nobody signed", async () => {
      const { page, close } = await openAs("funds");
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
      const { page, close } = await openAs("funds");
      const before = await fundsOf(31_339);
      await beginReloads(page);
      // Halts the relayer until the page was loaded again while it waits.
      const goOn = await own.devnet.haltRelayer();
      const waits = eventually(async () => (await reloadedStates(page))?.some(isWaiting) === true);
      const arrives = waits.finally(goOn);
      await pay(page, 31_339, "2");
      const [states] = await Promise.all([throughReloads(page), arrives]);
      for (const state of ["mint sent", "activateFrom asked", "activateFrom sent", "activateFrom final"]) {
        ok(states.includes(state), state);
      }
      equal(states.at(-1), "activateFrom credited");
      deepEqual(await fundsOf(31_339), { ...before, dollars: before.dollars - 2_000_000n, sent: before.sent + 2 });
      await close();
    });

    test("in the market, where tokens cost less than a dollar", async () => {
      await buyToPar(devnet.ready, 4);
      const { page, close } = await openAs("funds");
      await page.getByLabel(CHAINS[31_337]).check();
      await page.getByText("at the moment for more").waitFor();
      ok(await page.getByRole("radio", { name: /^Market/ }).isDisabled());
      await sellTokens(devnet.ready, 4, 100_000_000n);
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

  /** Continues whenever the page waits. Returns the states in which the page was loaded again. */
  async function throughReloads(page: Page): Promise<string[]> {
    const done = page.getByRole("heading", { name: /added$/ });
    const button = (name: string) => main(page).getByRole("button", { name });
    for (const deadline = Date.now() + 300_000; ; ) {
      if (Date.now() > deadline) throw new Error(`${await reloadedStates(page)}\n${await main(page).innerText()}`);
      await done.or(button("Continue")).or(button("It was not sent")).first().waitFor();
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

  /** Changes the stored payment. */
  function keepPlan(page: Page, change: object): Promise<void> {
    return page.evaluate((text) => {
      const name = Object.keys(localStorage).find((each) => each.startsWith("dollars:")) ?? "";
      const plan = JSON.parse(localStorage.getItem(name) ?? "{}") as object;
      localStorage.setItem(name, JSON.stringify({ ...plan, ...(JSON.parse(text) as object) }));
    }, JSON.stringify(change));
  }

  test("an order for top-ups is set, shown and ended on a chain", async () => {
    const { page, end } = await openAs("funds");
    const heading = page.getByRole("heading", { name: "Secondary 2", level: 3 });
    const order = main(page).locator("section").filter({ has: heading }).last();
    await order.getByText("Set an order").click();
    await order.getByLabel("At most a day, in dollars").fill("0.5");
    await order.getByText("At least $1.00, such as 5.").waitFor();
    deepEqual(await axeFindings(page), []);
    await order.getByLabel("At most a day, in dollars").fill("1");
    await order.getByRole("button", { name: "Set the order" }).click();
    await order.getByRole("button", { name: "End the order" }).waitFor();
    ok((await order.innerText()).includes("$1.00"));
    await page.setViewportSize(SIZES[360]);
    deepEqual([await axeFindings(page), await overflow(page)], [[], 0]);
    await order.getByRole("button", { name: "End the order" }).click();
    await order.getByText("Set an order").waitFor();
    await end();
  });

  test("a Safe pays by approval, its transactions are found by their effects, and it signs for a key", async () => {
    const { page, end } = await openWindow();
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
    await go(page, "funds");
    await click(page, "Safe");
    await page.getByLabel(CHAINS[31_338]).check();
    await page.getByText("Your smart account is not on Secondary 1.").waitFor();
    await page.getByLabel(CHAINS[31_337]).check();
    await page.getByText("This is a smart account, such as a Safe.").waitFor();
    await pay(page, 31_337, "2");
    await page.getByText("Activate the tokens").waitFor();
    await page.reload();
    await goOnUntilAdded(page);
    await page.getByRole("link", { name: "Create a key" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("the Safe's");
    await click(page, "Sign and create key");
    equal((await call("chat/completions", await page.locator("#key").innerText(), CHAT)).status, 200);
    await end();
  });

  async function goOnUntilAdded(page: Page): Promise<void> {
    const done = page.getByRole("heading", { name: /added$/ });
    const more = main(page).getByRole("button", { name: "Continue" });
    while (!(await done.isVisible())) {
      await done.or(more).first().waitFor();
      if (await more.isVisible()) await more.click({ timeout: 500 }).catch(() => {});
    }
  }

  test("a receipt is checked with a key and the reader's node, without a wallet", async () => {
    const { page, problems, close } = await openWindow();
    const receipt = await ask();
    const node = new URL(devnet.ready.chains[0]?.rpcUrl ?? "");
    // Under another name it is not a node of the gateway.
    node.hostname = "localhost";
    // A link cannot choose the node.
    await page.goto(`${url}/verify?node=${encodeURIComponent(node.href)}&receipt=${receipt}`);
    ok(await page.getByLabel("The service's node").isChecked());
    await page.getByLabel("My own node").check();
    await page.getByText(`The link that opened this page named ${node.host}.`).waitFor();
    await go(page, `verify?receipt=${receipt}`);
    await page.getByLabel("API key that made it").fill(devnet.ready.apiKey);
    await page.getByLabel("My own node").check();
    await page.getByLabel("Address of the node").fill(node.href);
    await click(page, "Use this node");
    await page.getByLabel("API key that made it").fill(devnet.ready.apiKey);
    ok(await page.getByLabel("My own node").isChecked());
    for (;;) {
      await click(page, "Check this receipt");
      const isFinal = page.getByText("The root is stored on chain: passed");
      await isFinal.or(page.getByText("The root is stored on chain: not checked")).waitFor();
      if (await isFinal.isVisible()) break;
      await page.waitForTimeout(2_000);
    }
    await page.getByText(`The chain was read through the node ${node.host}, which you chose`).waitFor();
    deepEqual(
      problems.filter((problem) => !problem.startsWith(node.href)),
      [],
    );
    await close();
  });

  test("the documentation keeps the language and the theme, finds by keyboard, copies, and needs no script", async () => {
    const { page, end } = await openWindow({ permissions: ["clipboard-read", "clipboard-write"] });
    await go(page, "docs");
    equal(await page.getByText(/^Balance/).isVisible(), false);
    await page.getByRole("tab", { name: "curl" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.getByRole("button", { name: "Copy: OpenAI for Python" }).click();
    ok(
      (await page.evaluate(() => navigator.clipboard.readText())).startsWith("import os\n\nfrom openai import OpenAI"),
    );
    await page.getByRole("button", { name: "Theme: system" }).click();
    await go(page, "");
    equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
    await main(page).getByRole("tab", { name: "Python", selected: true }).waitFor();
    await go(page, "docs");
    await page.getByRole("tab", { name: "Python", selected: true }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("insufficient balance");
    await page.getByRole("link", { name: /insufficient_balance/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/docs\/errors/);
    // Signed in, the header is the dashboard's.
    await go(page, "keys");
    await click(page, "Development wallet with a balance");
    await page.getByRole("table").waitFor();
    await go(page, "docs");
    await page
      .getByRole("banner")
      .getByText(/^Balance \$\d/)
      .waitFor();
    await end();
    const plain = await openWindow({ javaScriptEnabled: false });
    await go(plain.page, "docs");
    for (const name of ["curl", "Python", "TypeScript"]) await plain.page.getByRole("heading", { name }).waitFor();
    equal(await plain.page.getByRole("button").count(), 0);
    await plain.close();
  });

  test("while the service is away one banner says so, figures stay, and it ends when the service is back", async () => {
    const { page, close } = await openAs("keys", "Development wallet with a balance");
    const banner = page.getByText("The service does not answer. Your balance is not affected.");
    const balance = page.getByRole("banner").getByText(/^Balance \$/);
    await balance.waitFor();
    equal(await banner.count(), 0);
    await page.route("**/api/**", (route) => route.abort());
    await banner.waitFor();
    equal(await banner.count(), 1);
    ok(await balance.isVisible());
    equal(await page.getByRole("alert").count(), 0);
    await page.unroute("**/api/**");
    await banner.waitFor({ state: "detached" });
    await close();
  });

  describe("every screen is complete for a screen reader, a keyboard and a small window", () => {
    let screens: Screen[];
    before(async () => {
      const receipt = await ask();
      const account = privateKeyToAccount(devnet.ready.wallets[0]?.privateKey ?? "0x");
      const { connection } = createClient({ gateway: url, account, pollMs: 50 });
      const { agent } = await createAgent(connection, { name: "Heron", symbol: "HRN", supply: 10n ** 24n });
      const pages = await (await fetch(`${url}/docs`)).text();
      const docs = [...pages.matchAll(/<li><a href="\/(docs[^"#]*)"/g)].map(([, path = ""]) => ({ name: path, path }));
      ok(docs.length > 10);
      screens = [...screensOf({ receipt, agentToken: agent.token }), ...docs];
    });

    for (const colorScheme of THEMES) {
      for (const viewport of Object.values(SIZES)) {
        test(`${colorScheme}, at ${viewport.width} px`, async () => {
          const findings: string[] = [];
          const { page, end } = await openWindow({ colorScheme, viewport });
          let isSignedIn = false;
          for (const { path, isSignedOut } of screens.toSorted(signedOutFirst)) {
            if (isSignedOut !== true && !isSignedIn) await signIn(page, url);
            isSignedIn = isSignedOut !== true;
            equal((await go(page, path))?.status(), path === "nowhere" ? 404 : 200, path);
            await untilShown(page);
            findings.push(...(await axeFindings(page)).map((finding) => `/${path}: ${finding}`));
            findings.push(...(await unreachable(page)).map((element) => `/${path}: Tab does not reach ${element}`));
            if ((await overflow(page)) !== 0) findings.push(`/${path}: wider than the window`);
          }
          deepEqual(findings, []);
          await end();
        });
      }
    }
  });

  test("an owner makes an agent, sells of it and stops, and backers claim and withdraw, in the page alone", async () => {
    const [balance, wallet] = devnet.ready.wallets;
    const { privateKey, address } = wallet ?? { privateKey: "0x", address: "0x" };
    const say = () => {};
    for (const each of [address, balance?.address ?? "0x"])
      await askDevnet(own.folder, { command: "faucet", args: [each], say });
    const { page, end } = await openAs("agents");
    const part = (name: string, of = page) => of.getByRole("region", { name, exact: true });
    await page.getByText("You have created no agent and back none.").waitFor();
    await page.getByRole("link", { name: "Create an agent" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Owl");
    await page.getByLabel("Symbol").fill("owl");
    await click(page, "Create agent");
    await page.getByLabel(/^Stake, in/).fill("60");
    await click(page, "Stake");
    await page.getByText("60 units staked.").waitFor();
    await page.getByText("$60.00 from 00:00 UTC on").waitFor();
    await page.getByLabel("Cap, in units").fill("50");
    await click(page, "Set the cap");
    await page.getByText("At most $50.00 a day.").waitFor();
    // Loaded again, the steps go on.
    await page.reload();
    await click(page, "Sign offers with this wallet");
    await page.getByLabel("Share to sell").fill("40");
    await click(page, "Sign the offer");
    await page.getByText("40% is for sale.").waitFor();
    deepEqual(await axeFindings(page), []);
    const place = new URL(page.url()).pathname.slice(1);
    const agentToken = place.split("/")[1] as `0x${string}`;
    // The gateway starts again on the next day, and an open page would ask for it meanwhile.
    await page.goto("about:blank");
    await askDevnet(own.folder, { command: "day", args: [], say });
    const client = createClient({ gateway: url, account: privateKeyToAccount(privateKey), pollMs: 50 });
    await untilSold(client.connection, agentToken);
    await go(page, "agents");
    await part("Owl")
      .getByText(/^\$0\.0*[1-9]\d* of \$20\.00$/)
      .waitFor();
    await part("Owl").getByRole("link", { name: "Owl" }).click();
    await page.getByText("50 units in use of 60 staked").waitFor();
    await part("Offer").getByText("40%").waitFor();
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 800 });
      deepEqual(await axeFindings(page), []);
      equal(await overflow(page), 0);
    }
    await part("Offer").getByRole("button", { name: "Withdraw" }).click();
    await part("Offer").getByText("Nothing is for sale.").waitFor();

    const other = await openAs(place, "Development wallet with a balance");
    await click(other.page, "Back this agent");
    await other.page.getByLabel(/^Stake, in/).fill("20");
    await other.page.getByRole("dialog").getByRole("button", { name: "Stake" }).click();
    await part("Your backing", other.page).getByText("20 units backed").waitFor();
    equal(await other.page.getByRole("button", { name: "Change the cap" }).count(), 0);
    await other.close();

    await mintRewards(client, { ready: devnet.ready, agentToken, amountToken: 4_000_000n });
    await page.reload();
    await click(page, "Claim $3.00");
    await part("Your backing").getByRole("button", { name: "Nothing to claim yet" }).waitFor();
    await click(page, "Withdraw, paid after 1 day");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Units to withdraw").fill("61");
    await dialog.getByText("More than you back it with: 60.").waitFor();
    await dialog.getByLabel("Units to withdraw").fill("25");
    await dialog.getByRole("button", { name: "Withdraw" }).click();
    await part("Your backing").getByText("35 units backed").waitFor();
    await part("Withdrawals").getByText("25 units").waitFor();
    ok(await page.getByRole("button", { name: "Pay out" }).isDisabled());
    for (const { exitId } of await readExits(client.connection, address))
      await ripen(devnet.ready, { exitId, address });
    await page.reload();
    await click(page, "Pay out");
    await part("Withdrawals").waitFor({ state: "detached" });
    deepEqual(await readExits(client.connection, address), []);
    await end();
  });
});
