import type { Page } from "playwright-core";
import type { PageName } from "../app.tsx";

/** A screen of the dashboard, for tests and pictures. */
export type Screen = {
  name: string;
  path: string;
  /** Absent: as the wallet with a balance. */
  isSignedOut?: true;
};

/** The things in the addresses of screens. */
type Named = { receipt: string; agentToken: string };

const LOGIN = "login?callback=http://127.0.0.1:1/&state=abc&name=terminal&limit=5.00&limit_reset=monthly";

/** At least one screen of each page: the type checker misses a page that is not here. */
const SCREENS: Record<PageName, (named: Named) => readonly Screen[]> = {
  "": () => [
    { name: "Landing", path: "", isSignedOut: true },
    { name: "Home", path: "" },
  ],
  chat: () => [{ name: "Chat", path: "chat?model=alder-120b" }],
  activity: ({ receipt }) => [
    { name: "Activity", path: "activity" },
    { name: "Receipt", path: `activity/${receipt}` },
  ],
  keys: () => [
    { name: "Keys", path: "keys" },
    { name: "New key", path: "keys/new" },
  ],
  funds: () => [
    { name: "Funds", path: "funds" },
    { name: "Funds without a wallet", path: "funds", isSignedOut: true },
  ],
  models: () => [
    { name: "Models", path: "models" },
    { name: "Model", path: "models/fellside-1" },
    { name: "Models compared", path: "models?compare=fellside-1,heath-image-pro" },
  ],
  agents: ({ agentToken }) => [
    { name: "Agents", path: "agents" },
    { name: "Agent", path: `agents/${agentToken}` },
    { name: "New agent", path: "agents/new" },
  ],
  verify: () => [{ name: "Verify", path: "verify" }],
  status: () => [{ name: "Status", path: "status" }],
  settings: () => [{ name: "Settings", path: "settings" }],
  login: () => [{ name: "Log in a program", path: LOGIN }],
};

export function screensOf(named: Named): Screen[] {
  return [...Object.values(SCREENS).flatMap((screens) => screens(named)), { name: "No such page", path: "nowhere" }];
}

/** A window stays signed in. */
export function signedOutFirst(one: Screen, other: Screen): number {
  return Number(other.isSignedOut ?? false) - Number(one.isSignedOut ?? false);
}

/** Signs in as the wallet with a balance. */
export async function signIn(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/keys`);
  await page.getByRole("main").getByRole("button", { name: "Development wallet with a balance" }).click();
  await page.getByRole("table").waitFor();
}

/** Waits until the page shows what it reads. */
export async function untilShown(page: Page): Promise<void> {
  await page.waitForLoadState("networkidle");
  await page.getByRole("main").getByRole("heading", { level: 1 }).first().waitFor({ state: "attached" });
  await page.waitForFunction(() => document.querySelector(".skeleton") === null);
}
