import { mkdirSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { startDevnet } from "@inference/devnet/devnet";
import { anyPorts, deployedFolder } from "@inference/devnet/testing/launch";
import type { Browser } from "playwright-core";
import { buildDashboard } from "../build/build.ts";
import { openBrowser } from "./browser.ts";
import { type Picture, SIZES, THEMES, takePictures } from "./pictures.ts";
import { playScene } from "./scene.ts";
import { screensOf } from "./screens.ts";

/**
 * Renews the contact sheets in `docs/images`: every screen in both themes and widths, over a devnet of its own with some
 * days of use. Takes some ten minutes. `--to DIR` also writes each picture in its full size; `--only "Home,Keys"` takes
 * these screens and changes no sheet.
 */
const { values } = parseArgs({ options: { to: { type: "string" }, only: { type: "string" } } });
const SHEETS = new URL("../../../docs/images/", import.meta.url);
/** Screens of one image. */
const SHEET_ROWS = 8;
/** The height of a picture in a sheet, in pixels. */
const TILE_HEIGHT = 330;
const WEBP_QUALITY = 72;

const folder = deployedFolder();
await buildDashboard();
const environment = { ...process.env, ...anyPorts, DEVNET_DIR: folder.path };
const devnet = await startDevnet({ environment, survivesKill: false, onProgress: console.log });
try {
  console.log("Playing six days ...");
  const scene = await playScene(devnet.ready, folder.path);
  const named = values.only?.split(",");
  const screens = screensOf(scene).filter(({ name }) => named?.includes(name) ?? true);
  const browser = await openBrowser();
  const pictures: Picture[] = [];
  for await (const picture of takePictures(browser, { url: devnet.ready.gatewayUrl, screens })) {
    pictures.push(picture);
    const { screen, theme, width, png } = picture;
    console.log(`${screen.name}, ${theme}, ${width} px`);
    if (values.to === undefined) continue;
    mkdirSync(values.to, { recursive: true });
    writeFileSync(`${values.to}/${screen.name.replaceAll(" ", "-")}-${theme}-${width}.png`, png);
  }
  if (named === undefined) await writeSheets(browser, pictures);
  await browser.close();
} finally {
  await devnet.stop();
  folder.remove();
}

async function writeSheets(browser: Browser, pictures: readonly Picture[]): Promise<void> {
  const rows = [...Map.groupBy(pictures, ({ screen }) => screen.name)];
  for (let sheet = 0; sheet * SHEET_ROWS < rows.length; sheet++) {
    const shown = rows.slice(sheet * SHEET_ROWS, (sheet + 1) * SHEET_ROWS);
    const page = await browser.newPage({ viewport: { width: 1, height: 1 } });
    await page.setContent(sheetOf(shown));
    const body = await page.locator("body").boundingBox();
    const { width = 1, height = 1 } = body ?? {};
    await page.setViewportSize({ width: Math.ceil(width), height: Math.ceil(height) });
    const session = await page.context().newCDPSession(page);
    const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: WEBP_QUALITY });
    const file = new URL(`contact-sheet-${sheet + 1}.webp`, SHEETS);
    writeFileSync(file, Buffer.from(data, "base64"));
    console.log(`${file.pathname}: ${Math.round((data.length * 0.75) / 1_000)} kB`);
    await page.close();
  }
}

/** A row for each screen: light and dark, each wide and narrow. */
function sheetOf(rows: readonly (readonly [name: string, pictures: readonly Picture[]])[]): string {
  const tiles = rows.map(([name, pictures]) => {
    const images = THEMES.flatMap((theme) =>
      ([1440, 360] as const).map((width) => {
        const { png } = pictures.find((each) => each.theme === theme && each.width === width) ?? {};
        const shownWidth = Math.round((SIZES[width].width / SIZES[width].height) * TILE_HEIGHT);
        return `<img alt="" width="${shownWidth}" height="${TILE_HEIGHT}" src="data:image/png;base64,${png?.toString("base64")}">`;
      }),
    );
    return `<h2>${name}</h2><div>${images.join("")}</div>`;
  });
  return `<style>
    body { position: absolute; margin: 0; padding: 16px; background: #8a9493; font: 600 15px sans-serif; color: #fff }
    h2 { margin: 8px 0 6px; font: inherit }
    div { display: flex; gap: 8px }
    </style><body>${tiles.join("")}</body>`;
}
