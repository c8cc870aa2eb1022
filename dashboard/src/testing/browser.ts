import { deepEqual } from "node:assert/strict";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

/** Debian's, unless the environment names another. */
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

export const missingChromium = existsSync(executablePath)
  ? false
  : `there is no ${executablePath}: apt-get install chromium, or set CHROMIUM to a browser's path`;

const DISABLED = [
  // Two hidden pages of each window's address bar take as much time as the page under test.
  ...["WebUIOmniboxPopup", "WebUIOmniboxAimPopup"],
  // Those of Playwright's own list, which this one replaces, that matter on Debian and this machine's addresses.
  ...["AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades", "MediaRouter"],
  ...["HttpsFirstBalancedModeAutoEnable", "PaintHolding", "ThirdPartyStoragePartitioning", "OptimizationHints"],
  ...["NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch", "AvoidCorsURLLoaderRestartOnRedirect"],
];

export function openBrowser(): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", `--disable-features=${DISABLED.join()}`];
  return chromium.launch({ executablePath, args });
}

/** A page, and its problems: errors, violations of its policy, and requests to other hosts. */
export type WatchedPage = {
  page: Page;
  problems: string[];
  scriptBytes(): Promise<number>;
  close(): Promise<void>;
  /** Closes it. Fails if it had problems. */
  end(): Promise<void>;
};

/** A test's rule for the wallet's next request. */
type WalletRule = {
  method: string;
  /** `reload`: it obeys, and the page is loaded again before the answer. `hang`: it never answers. */
  does: "reject" | "reload" | "hang";
};

export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  // A moving page is drawn 60 times a second.
  const context = await browser.newContext({ reducedMotion: "reduce", ...options });
  await context.addInitScript(obeyRules);
  await context.addInitScript(reloadAtStates);
  const page = await context.newPage();
  page.setDefaultTimeout(300_000);
  const problems: string[] = [];
  const scripts: Promise<number>[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    // An error status of the gateway is not a problem of the page.
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
    async end() {
      deepEqual(problems, []);
      await context.close();
    },
  };
}

/** Sets the rule for the wallet's next request of this method; null: none. */
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
      if (rule.does === "reload") {
        await request(asked);
        location.reload();
      }
      return new Promise(() => {});
    };
  });
}

/**
 * Starts to load the page again in each stored state of a payment. The wallet ignores the first request to send, as if
 * it was closed. It obeys the second one, and the page is loaded again before the answer.
 */
export function beginReloads(page: Page): Promise<void> {
  return page.evaluate(() => localStorage.setItem("test-states", "[]"));
}

/** The states in which the page was loaded again, such as `mint sent`; undefined while it is loaded. */
export function reloadedStates(page: Page): Promise<string[] | undefined> {
  const read = () => JSON.parse(localStorage.getItem("test-states") ?? "[]") as string[];
  return page.evaluate(read).catch(() => undefined);
}

/** Runs in the page before its own scripts. */
function reloadAtStates(): void {
  const { setItem } = Storage.prototype;
  const keep = (name: string, value: unknown) => setItem.call(localStorage, name, JSON.stringify(value));
  Storage.prototype.setItem = function (name: string, text: string): void {
    const before = this.getItem(name);
    setItem.call(this, name, text);
    const known = localStorage.getItem("test-states");
    if (known === null || !name.startsWith("dollars:") || text === before) return;
    type Shown = { step: string; stage: string; waitsFor: string | null };
    const { kept, shown } = JSON.parse(text) as { kept: object | null; shown: Shown | null };
    if (shown === null) return;
    const { step, stage, waitsFor } = shown;
    if (stage === "asked" && kept === null) return;
    const [states, state] = [JSON.parse(known) as string[], `${step} ${stage} ${waitsFor ?? ""}`.trim()];
    const times = states.filter((each) => each === state).length;
    if (times > (stage === "asked" ? 1 : 0)) return;
    keep("test-states", [...states, state]);
    if (stage === "asked") keep("test-rule", { method: "eth_sendTransaction", does: times === 0 ? "hang" : "reload" });
    if (stage !== "asked" || times === 0) location.reload();
  };
}

const axeSource = createRequire(import.meta.url)("axe-core").source as string;

/** The findings of axe on a page, with their places. */
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

/** The pixels by which the page is wider than the window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
}

/** The visible controls that the Tab key does not reach. The key reaches one control of a group of radio buttons or tabs. */
export async function unreachable(page: Page): Promise<string[]> {
  const count = await page.evaluate(() => {
    const controls =
      "a[href], button:enabled, input:enabled, select:enabled, textarea:enabled, summary, [tabindex='0']";
    const group = "input[type='radio']:not(:checked), [role='tab'][tabindex='-1'], [tabindex='-1']";
    const shown = [...document.querySelectorAll<HTMLElement>(controls)].filter(
      (each) => !each.matches(group) && each.checkVisibility({ visibilityProperty: true }),
    );
    const left = new Set(shown);
    Object.assign(window, { left });
    document.addEventListener("focusin", ({ target }) => left.delete(target as HTMLElement));
    (document.activeElement as HTMLElement | null)?.blur();
    return shown.length;
  });
  for (let presses = 0; presses < count + 20; presses++) await page.keyboard.press("Tab");
  return page.evaluate(() =>
    [...(window as unknown as { left: Set<HTMLElement> }).left]
      .filter((each) => each.isConnected)
      .map((each) => each.outerHTML.slice(0, 120)),
  );
}
