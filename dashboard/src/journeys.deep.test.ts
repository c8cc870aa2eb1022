import { equal, match } from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ask as askDevnet } from "@inference/devnet/ask";
import { temporaryFolder } from "@inference/devnet/testing/launch";
import { createClient } from "@inference/sdk/client";
import type { Page } from "playwright-core";
import { privateKeyToAccount } from "viem/accounts";
import { missingChromium } from "./testing/browser.ts";
import { SIZES } from "./testing/pictures.ts";
import { added, CHAT, call, click, devnet, go, main, openWindow, ownStage, untilSold, url } from "./testing/stage.ts";

/**
 * Whole ways of a person, counted in steps (a click, an entry, a signature, a command) and timed in machine time. The
 * table is in the dashboard's README. `deploy/README.md` has the operator's way.
 */
describe("journeys", { skip: missingChromium }, () => {
  const own = ownStage();
  const journeys: string[] = [];
  after(() => console.log(`${journeys.join("\n")}\n`));

  /** Counts the steps of a journey. Waiting is in its time. */
  function begin(name: string) {
    const startedMs = performance.now();
    let steps = 0;
    return {
      step: async <T>(act: Promise<T>): Promise<T> => {
        steps += 1;
        return await act;
      },
      /** The development wallets sign at once: a signature is a step of a person with another wallet. */
      signature: () => {
        steps += 1;
      },
      end: () => {
        const seconds = (performance.now() - startedMs) / 1_000;
        journeys.push(`${name}: ${steps} steps, ${seconds.toFixed(1)} s`);
      },
    };
  }

  for (const width of [1440, 360] as const) {
    test(`from a dollar in a wallet to an answered request, at ${width} px`, async () => {
      const { page, close } = await openWindow({ viewport: SIZES[width] });
      await go(page, "");
      const journey = begin(`dollar to key in the browser, ${width} px`);
      await journey.step(page.getByRole("link", { name: "Get started" }).first().click());
      await journey.step(click(page, "Development wallet"));
      journey.signature();
      await journey.step(click(page, /^Add \$/));
      journey.signature();
      journey.signature();
      await added(page);
      await journey.step(page.getByRole("link", { name: "Create a key" }).click());
      await journey.step(page.getByRole("textbox", { name: "Name" }).fill(`at ${width}`));
      await journey.step(click(page, "Sign and create key"));
      journey.signature();
      const key = await page.locator("#key").innerText();
      equal((await call("chat/completions", key, CHAT)).status, 200);
      journey.end();
      await close();
    });
  }

  test("from a dollar in a wallet to an answered request, in the terminal", async () => {
    const home = temporaryFolder();
    const file = fileURLToPath(new URL("../../cli/bin/infer.mjs", import.meta.url));
    const env = { ...process.env, HOME: home.path, XDG_STATE_HOME: home.path, DEVNET_DIR: own.folder };
    const infer = (...args: string[]) => {
      const running = promisify(execFile)(process.execPath, [file, ...args], { env });
      // What comes on standard input belongs to the prompt, so the command waits for its end.
      running.child.stdin?.end();
      return running;
    };
    const journey = begin("dollar to key in the terminal");
    await journey.step(infer("login", "--devnet", "--wallet", "3"));
    await journey.step(infer("mint", "5"));
    await journey.step(infer("activate", "5"));
    const { stderr } = await journey.step(infer("chat", "Hello"));
    match(stderr, /Receipt req_/);
    journey.end();
    home.remove();
  });

  test("from nothing to an agent's first sale, in the page", async () => {
    const command = (name: string, ...args: string[]) => askDevnet(own.folder, { command: name, args, say: () => {} });
    const { address, privateKey } = devnet.ready.wallets[1] ?? { address: "0x", privateKey: "0x" };
    await command("faucet", address);
    const { page, close } = await openWindow({ viewport: SIZES[1440] });
    await go(page, "agents");
    const journey = begin("an agent to its first sale, with the wait for 00:00 UTC skipped");
    await journey.step(click(page, "Development wallet"));
    journey.signature();
    await journey.step(page.getByRole("link", { name: "Create an agent" }).click());
    await journey.step(page.getByLabel("Name", { exact: true }).fill("Owl"));
    await journey.step(page.getByLabel("Symbol").fill("OWL"));
    await signed(click(page, "Create agent"), 1);
    await journey.step(page.getByLabel(/^Stake, in/).fill("60"));
    await signed(click(page, "Stake"), 2);
    await page.getByText("60 units staked.").waitFor();
    await journey.step(click(page, "Go on without a cap"));
    await signed(click(page, "Sign offers with this wallet"), 2);
    await journey.step(page.getByLabel("Share to sell").fill("40"));
    await signed(click(page, "Sign the offer"), 1);
    await page.getByText("40% is for sale.").waitFor();
    const agentToken = new URL(page.url()).pathname.split("/")[2] as `0x${string}`;
    await page.goto("about:blank");
    await command("day");
    const { connection } = createClient({ gateway: url, account: privateKeyToAccount(privateKey), pollMs: 50 });
    await untilSold(connection, agentToken);
    await go(page, `agents/${agentToken}`);
    await sold(page);
    journey.end();
    await close();

    async function signed(act: Promise<void>, signatures: number): Promise<void> {
      await journey.step(act);
      for (let each = 0; each < signatures; each++) journey.signature();
    }
  });

  const sold = (page: Page) =>
    main(page)
      .getByText(/^of \$[\d.]+ offered$/)
      .waitFor();
});
