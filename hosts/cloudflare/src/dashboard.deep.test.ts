import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { missingChromium, openBrowser, openPage } from "@inference/dashboard/testing/browser";
import { startEdgeHost, stopEdgeHost } from "./testing/edge-host.ts";

/** A browser and a Worker agree on how files are compressed and typed: the suites ask as programs do. */
let browser: Awaited<ReturnType<typeof openBrowser>> | undefined;
before(async () => {
  if (missingChromium === false) browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await stopEdgeHost();
});

test("a Worker's dashboard opens in Chromium", { skip: missingChromium }, async () => {
  const host = await startEdgeHost();
  const { page, problems, close } = await openPage(browser ?? assert.fail());
  await page.goto(`${host.url}/`);
  await page.getByRole("heading", { level: 1, name: /A bill you can prove/ }).waitFor();
  await page.goto(`${host.url}/models`);
  await page.getByRole("main").getByText("sim-small").first().waitFor();
  assert.deepEqual(problems, []);
  await close();
  await host.stop();
});
