import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { inDeepRun } from "@inference/protocol/testing/deep";
import type { ApiKey } from "@inference/sdk/keys";
import type { ListedReceipt } from "@inference/sdk/spending";
import type { Page } from "playwright-core";
import { usd } from "../format.ts";
import { call, click, go, main, openAs, openWindow } from "./stage.ts";

/** Everything that a hostile model could try: scripts, handlers, frames, addresses that run, and images from elsewhere. */
const HOSTILE = [
  "<script>window.owned = 1</script> <img src=x onerror='window.owned = 2'> <svg onload='window.owned = 3'></svg>",
  "<iframe src='//evil.example'></iframe><style>body { display: none }</style><form action='/keys'></form>",
  "[run](javascript:window.owned=4) [data](data:text/html,<script>window.owned=5</script>) <a href='javascript:1'>a</a>",
  "![pixel](https://evil.example/pixel.png) ![inline](data:image/svg+xml,<svg/onload=alert(1)>)",
  "[reference][x] [good](https://good.example/page)\n\n[x]: vbscript:msgbox(1)",
  "# root\n\n| a |\n|---|\n| <b onclick='window.owned = 6'>b</b> |\n\n```html\n<script>window.owned = 7</script>\n```",
].join("\n\n");
const STEPS = JSON.stringify([{ say: HOSTILE }, { say: "And no more." }]);
/** The simulator's script ends with the first end tag in it. */
const SCRIPT = `<script>${STEPS.replaceAll("<", "\\u003c")}</script>`;
/** One pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** The page of chat, over the stage that is up. */
export function chatTests(): void {
  test("a chat is paid by its own key within its limit, and what it says of money is what was charged", async () => {
    const { page, end } = await openAs("chat?model=alder-27b", "Development wallet with a balance");
    await page.getByLabel("Limit a day, in dollars").fill("0.0025");
    await main(page).getByText("Text to sign").click();
    await main(page).getByText("name=Chat&limit=0.0025&limit_reset=daily").waitFor();
    await click(page, "Sign and start");

    await send(page, SCRIPT);
    await page.getByText(/^The key Chat has \$0\.0025 left of its limit\. This request reserves up to/).waitFor();
    equal(await message(page).inputValue(), SCRIPT, "the refused message is lost");
    await click(page, /^Lower the output limit to/);
    await page.getByLabel("Output limit").fill("400");
    const reserved = nanoOf(await page.getByText(/^This request reserves up to/).innerText());
    await send(page, null);
    await answered(page, 1);
    await hostileTextIsHarmless(page);
    await send(page, "Go on.");
    await answered(page, 2);
    await page.getByText("And no more.", { exact: true }).waitFor();

    // The first question is edited, and the answer to it is stopped: the two answers before it were paid as well.
    await page.locator(".asked").first().hover();
    await page.getByRole("button", { name: "Edit and send again" }).first().click();
    await page.getByLabel("Edit your message").fill("A long answer [[tokens=12]] [[drip=500]]");
    await click(page, "Send again");
    await page.locator(".answered .prose").waitFor();
    await click(page, "Stop");
    await page.getByText(/^Stopped\. Charged for [\d,]+ tokens: \$/).waitFor();
    await click(page, "Answer again");
    await page.getByText(/^Stopped/).waitFor({ state: "detached" });
    await answered(page, 1);

    const { key, receipts } = await ownKey(page);
    equal(receipts.length, 4);
    ok((receipts.at(-1)?.held_nano_usd ?? 0) <= reserved, "more was reserved than the page said");
    const cost = usd(key.usage_nano_usd);
    equal(usd(receipts.reduce((sum, { charge_nano_usd: nano }) => sum + nano, 0)), cost);
    const sums = page.getByRole("region", { name: "This chat" });
    match(
      await sums.innerText(),
      new RegExp(`Answers\\s+4\\s+Of these, replaced\\s+3.*Cost\\s+${literal(cost)}$`, "s"),
    );
    await page.getByText(`Key Chat: ${cost} of $0.0025 today`).waitFor();

    // An image goes to a model with vision, beside text that was typed while it was read, and the chat is there after a reload.
    await page.getByLabel("Model").selectOption("alder-4b");
    await page.evaluate(readAfterTyping);
    await page.getByLabel("Attach an image").setInputFiles({
      ...{ name: "one.png", mimeType: "image/png" },
      buffer: Buffer.from(PNG, "base64"),
    });
    await message(page).fill("What is this?");
    await page.getByAltText("Attachment 1").waitFor();
    await send(page, null);
    await answered(page, 2);
    await page.reload();
    await answered(page, 2);
    await page.locator(".asked img").waitFor();
    match(await sums.innerText(), /Answers\s+5/);
    await page.getByLabel("Code", { exact: true }).check();
    await page.getByRole("tab", { name: "Python" }).click();
    match(await page.locator(".chat-rail pre").innerText(), /model="alder-4b".*What is this\?.*max_tokens=400/s);
    await end();
  });
}

const message = (page: Page) => page.getByRole("textbox", { name: "Message" });

/** @param text Null: what is in the field. */
async function send(page: Page, text: string | null): Promise<void> {
  if (text !== null) await message(page).fill(text);
  await message(page).press("Enter");
}

/** Waits until so many answers are there, and the last has its charge. */
async function answered(page: Page, count: number): Promise<void> {
  await page
    .locator(".answered")
    .nth(count - 1)
    .getByText(/\d ms to first token|\d s to first token/)
    .waitFor();
  await page
    .locator(".answered")
    .nth(count - 1)
    .locator(".meta strong")
    .waitFor();
  await page.getByRole("button", { name: "Send", exact: true }).waitFor();
}

/** Runs in the page: a file is read when the message has text. */
function readAfterTyping(): void {
  const read = FileReader.prototype.readAsDataURL;
  FileReader.prototype.readAsDataURL = function (file) {
    const field = document.querySelector("textarea");
    if (field?.value === "") field.addEventListener("input", () => read.call(this, file), { once: true });
    else read.call(this, file);
  };
}

async function hostileTextIsHarmless(page: Page): Promise<void> {
  const found = await page.locator(".answered .prose").evaluate((prose) => ({
    elements: [...prose.querySelectorAll("script, img, svg:not(.lucide), iframe, style, form, object, embed")].length,
    links: [...prose.querySelectorAll("a")].map(({ href }) => href),
    ids: [...prose.querySelectorAll("[id]")].length,
    handlers: [...prose.querySelectorAll("*")].flatMap((each) =>
      each.getAttributeNames().filter((name) => name.startsWith("on")),
    ),
    owned: (window as unknown as { owned?: number }).owned ?? null,
  }));
  deepEqual(found, {
    ...{ elements: 0, ids: 0, handlers: [], owned: null },
    links: ["https://evil.example/pixel.png", "https://good.example/page"],
  });
}

/** The page's key as the gateway knows it, and its receipts, the newest first. */
async function ownKey(page: Page): Promise<{ key: ApiKey; receipts: ListedReceipt[] }> {
  const kept = await page.evaluate(() => {
    const name = Object.keys(localStorage).find((each) => each.startsWith("chat-key:")) ?? "";
    return localStorage.getItem(name) ?? "{}";
  });
  const { key } = JSON.parse(kept) as { key: string };
  const [own, activity] = await Promise.all([call("key", key), call("activity", key)]);
  const { data } = (await own.json()) as { data: ApiKey };
  return { key: data, receipts: ((await activity.json()) as { data: ListedReceipt[] }).data };
}

function nanoOf(text: string): number {
  return Math.round(Number(/\$([\d.]+)/.exec(text)?.[1]) * 1e9);
}

function literal(text: string): string {
  return text.replaceAll(/[$.]/g, "\\$&");
}

/** The pages of models. */
export function modelTests(): void {
  test(
    "models are filtered in the address, compared, and each has a page whose estimate multiplies out",
    inDeepRun,
    async () => {
      const { page, end } = await openWindow();
      await go(page, "models?q=fellside");
      const row = page.getByRole("row", { name: /fellside-1/ });
      match((await row.innerText()).replaceAll(/\s+/g, " "), /1,000,000 from \$2\.50 from \$0\.25 from \$12\.50/);
      await row.getByRole("checkbox").check();
      await page.getByLabel("Find a model").fill("alder-4b");
      await page.getByRole("checkbox", { name: "Compare alder-4b" }).check();
      match(page.url(), /q=alder-4b&marked=fellside-1%2Calder-4b$/);
      await click(page, "Compare 2");
      await page.getByRole("row", { name: "Output above 200,000 input tokens $18.75 –" }).waitFor();
      await page.getByRole("link", { name: "fellside-1" }).click();
      await page.getByLabel("Input tokens per request").fill("300,000");
      await page.getByLabel("Output tokens per request").fill("1,000");
      await page.getByLabel("Requests a day").fill("2");
      await page.getByText("Input, 300,000 × $5.00 / 1M").waitFor();
      await page.getByText("$1.51875", { exact: true }).waitFor();
      equal(await page.locator(".estimate .figure").innerText(), "$91.125");
      await go(page, "models/felside_1");
      await page.getByRole("link", { name: "fellside-1" }).click();
      await page.getByRole("heading", { level: 1, name: "fellside-1" }).waitFor();
      await end();
    },
  );
}
