import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

/** Debian's, unless the environment names another. */
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

export const missingChromium = existsSync(executablePath)
  ? false
  : `there is no ${executablePath}: apt-get install chromium, or set CHROMIUM to a browser's path`;

export function openBrowser(): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];
  return chromium.launch({ executablePath, args: [...args, "--disable-background-networking", "--disable-sync"] });
}

/** A page, and what went wrong in it: errors, what its policy refused, and requests to other hosts. */
export type WatchedPage = { page: Page; problems: string[]; scriptBytes(): Promise<number>; close(): Promise<void> };

/** What a test has a wallet do when it is next asked. */
export type WalletRule = {
  method: string;
  /** `silent`: it does as asked and its answer gets lost. `hang`: it does nothing and never answers. */
  does: "reject" | "silent" | "hang";
};

export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext(options);
  await context.addInitScript(obeyRules);
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const problems: string[] = [];
  const scripts: Promise<number>[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    // A request that the gateway refuses is no fault of the page.
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) problems.push(message.text());
  });
  page.on("request", (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (hostname !== "127.0.0.1" && protocol !== "data:" && protocol !== "blob:") problems.push(request.url());
  });
  page.on("requestfinished", (request) => {
    if (request.resourceType() !== "script" || request.url().includes("/development-")) return;
    scripts.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
  });
  return {
    page,
    problems,
    scriptBytes: async () => (await Promise.all(scripts)).reduce((sum, bytes) => sum + bytes, 0),
    close: () => context.close(),
  };
}

/** The wallet's next request of this method is answered so; null: as usual. */
export function setRule(page: Page, rule: WalletRule | null): Promise<void> {
  return page.evaluate((text) => localStorage.setItem("test-rule", text), JSON.stringify(rule));
}

/** Runs in the page before it: wallets that are announced obey the rule. */
function obeyRules(): void {
  type Provider = { request(asked: { method: string }): Promise<unknown>; obeys?: boolean };
  addEventListener("eip6963:announceProvider", (event) => {
    const { provider } = (event as CustomEvent<{ provider: Provider }>).detail;
    if (provider.obeys) return;
    provider.obeys = true;
    const { request } = provider;
    provider.request = async (asked) => {
      const rule = JSON.parse(localStorage.getItem("test-rule") ?? "null") as { method: string; does: string } | null;
      if (rule?.method !== asked.method) return request(asked);
      localStorage.removeItem("test-rule");
      if (rule.does === "reject") throw Object.assign(new Error("User rejected the request."), { code: 4001 });
      if (rule.does === "silent") await request(asked);
      return new Promise(() => {});
    };
  });
}

const axeSource = createRequire(import.meta.url)("axe-core").source as string;

/** What axe finds wrong on a page, each with where. */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  return page.evaluate(async () => {
    type Result = { violations: { id: string; nodes: { target: unknown[]; failureSummary?: string }[] }[] };
    const { axe } = window as unknown as { axe: { run(): Promise<Result> } };
    const { violations } = await axe.run();
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} at ${target.join(" ")}: ${failureSummary}`),
    );
  });
}

/** By how many pixels the page is wider than the window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
}
