import type { Browser, Page } from "playwright-core";
import { openPage } from "./browser.ts";
import { type Screen, signedOutFirst, signIn, untilShown } from "./screens.ts";

/** The sizes of a desktop's window and of a phone's. */
export const SIZES = { 1440: { width: 1440, height: 900 }, 360: { width: 360, height: 780 } } as const;
export const THEMES = ["light", "dark"] as const;

export type Picture = { screen: Screen; theme: (typeof THEMES)[number]; width: keyof typeof SIZES; png: Buffer };

type Options = { url: string; screens: readonly Screen[] };

/** Takes each screen in each theme and width, in one window. */
export async function* takePictures(browser: Browser, { url, screens }: Options): AsyncGenerator<Picture> {
  const { page, close } = await openPage(browser);
  let isSignedIn = false;
  for (const screen of screens.toSorted(signedOutFirst)) {
    if (screen.isSignedOut !== true && !isSignedIn) await signIn(page, url);
    isSignedIn = screen.isSignedOut !== true;
    for (const width of [1440, 360] as const) {
      await page.setViewportSize(SIZES[width]);
      await page.goto(`${url}/${screen.path}`);
      await untilShown(page);
      await (ACTS[screen.name] ?? none)(page);
      for (const theme of THEMES) {
        await page.emulateMedia({ colorScheme: theme });
        yield { screen, theme, width, png: await page.screenshot({ animations: "disabled" }) };
      }
    }
  }
  await close();
}

const none = async (): Promise<void> => {};

/** The actions on a screen before its picture, by the screen's name. */
const ACTS: Readonly<Record<string, (page: Page) => Promise<void>>> = {
  async Chat(page) {
    const start = page.getByRole("button", { name: "Sign and start" });
    if (await start.isVisible()) await start.click();
    for (const [place, question] of QUESTIONS.entries()) {
      await page.getByRole("textbox", { name: "Message" }).fill(question);
      await page.keyboard.press("Enter");
      await page.locator(".answered").nth(place).getByRole("link", { name: "Receipt" }).waitFor();
    }
  },
  async Receipt(page) {
    await page.getByRole("button", { name: "Verify this" }).click();
    await page.getByText(/checks passed/).waitFor();
    await page.evaluate(() => scrollTo(0, 0));
  },
  async Verify(page) {
    await page.getByRole("button", { name: "Check my account" }).click();
    await page.getByRole("heading", { name: /checks passed/ }).waitFor();
  },
};

/** The first question has the provider simulator's script of both answers, and is scrolled out of the picture. */
const ANSWERS = [
  "The light is good until four. ".repeat(60),
  `A heron stands still because its prey sees **movement** before it sees shape.

1. It waits until the water is calm.
2. It strikes within a tenth of a second.

\`\`\`python
def strike(fish: Fish) -> bool:
    return fish.depth_cm < 30 and fish.distance_cm < 60
\`\`\`

Fishing takes most of its day: [a field guide](https://example.org/heron) counts six hours.`,
];
const QUESTIONS = [
  `A day at the river <script>${JSON.stringify(ANSWERS.map((say) => ({ say })))}</script>`,
  "Why does a heron stand still?",
];
