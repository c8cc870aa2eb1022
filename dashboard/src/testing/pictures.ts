import type { Browser, Page } from "playwright-core";
import { openPage } from "./browser.ts";
import { type Screen, signedOutFirst, signIn, untilShown } from "./screens.ts";

/** The sizes of a desktop's window and of a phone's. */
export const SIZES = { 1440: { width: 1440, height: 900 }, 360: { width: 360, height: 780 } } as const;
export const THEMES = ["light", "dark"] as const;

export type Picture = { screen: Screen; theme: (typeof THEMES)[number]; width: keyof typeof SIZES; png: Buffer };

type Options = {
  url: string;
  screens: readonly Screen[];
  widths?: readonly (keyof typeof SIZES)[];
  themes?: readonly (typeof THEMES)[number][];
  /** The whole page, not what a window shows. */
  isFull?: boolean;
  /** Before the first screen of each window, such as a route of its own. */
  prepare?(page: Page): Promise<void>;
};

/** Takes each screen in each theme and width. */
export async function* takePictures(browser: Browser, options: Options): AsyncGenerator<Picture> {
  const { url, screens, widths = [1440, 360], themes = THEMES, isFull = false } = options;
  for (const theme of themes) {
    for (const width of widths) {
      const { page, close } = await openPage(browser, { viewport: SIZES[width], colorScheme: theme });
      await options.prepare?.(page);
      let isSignedIn = false;
      for (const screen of screens.toSorted(signedOutFirst)) {
        if (screen.isSignedOut !== true && !isSignedIn) {
          await signIn(page, url);
          isSignedIn = true;
        }
        await page.goto(`${url}/${screen.path}`);
        await untilShown(page);
        await (ACTS[screen.name] ?? none)(page);
        yield { screen, theme, width, png: await page.screenshot({ fullPage: isFull, animations: "disabled" }) };
      }
      await close();
    }
  }
}

const none = async (): Promise<void> => {};

/** What is done on a screen before its picture. */
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
