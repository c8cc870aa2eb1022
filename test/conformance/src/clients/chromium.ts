import { existsSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import type { Client, Connection } from "./client.ts";
import { type PlainAnswer, type PlainRequest, plainCalls } from "./plain.ts";

/** Debian's, unless the environment names another. */
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

export const missingChromium = existsSync(executablePath)
  ? undefined
  : `There is no ${executablePath}: apt-get install chromium, or set CHROMIUM to a browser's path.`;

/** A page of another origin, in a browser without a window, which reads with its own `fetch` what CORS lets it. */
export const chromium: Client = {
  name: "Chromium",
  cannot: { "chat: retry": "A page's `fetch` does not try again." },
  async open(connection) {
    started ??= start();
    const { browser, site } = await started;
    const page = await openPage(browser, site.url);
    let last = 0;
    return plainCalls((request) => {
      last += 1;
      return send(page, connection, request, last);
    });
  },
  async close() {
    const { browser, site } = (await started) ?? {};
    await browser?.close();
    await site?.close();
  },
};

let started: Promise<{ browser: Browser; site: Site }> | undefined;

async function start(): Promise<{ browser: Browser; site: Site }> {
  // Loading it takes a second.
  const { chromium: launcher } = await import("playwright-core");
  return { browser: await launcher.launch({ executablePath, args: ["--no-sandbox"] }), site: await serveEmptyPage() };
}

type Listener = (bytes: Uint8Array) => void;
type OpenPage = { page: Page; listeners: Map<number, Listener> };

async function openPage(browser: Browser, url: string): Promise<OpenPage> {
  const page = await browser.newPage();
  const listeners = new Map<number, Listener>();
  await page.exposeFunction("onBytes", (id: number, base64: string) => {
    listeners.get(id)?.(Buffer.from(base64, "base64"));
  });
  await page.goto(url);
  await page.evaluate(defineCalls);
  return { page, listeners };
}

async function send(
  { page, listeners }: OpenPage,
  { baseUrl, apiKey, wire }: Connection,
  { method, path, body, signal, onBytes }: PlainRequest,
  id: number,
): Promise<PlainAnswer> {
  const url = baseUrl + path;
  const chunks: Uint8Array[] = [];
  let failed: unknown;
  listeners.set(id, (bytes) => {
    chunks.push(bytes);
    try {
      onBytes?.(bytes);
    } catch (error) {
      failed ??= error;
    }
  });
  const abort = (): void => void page.evaluate((which) => window.calls.abort(which), id);
  signal?.addEventListener("abort", abort, { once: true });
  const headers = { authorization: `Bearer ${apiKey}`, ...(body === undefined ? {} : jsonType) };
  const answer = await page.evaluate((request) => window.calls.send(request), { id, url, method, headers, body });
  signal?.removeEventListener("abort", abort);
  listeners.delete(id);
  if (answer.status !== null) {
    const { status, whole } = answer;
    const { pathname } = new URL(url);
    // The page could read the answer, so this header was sent.
    const seen = new Headers([...answer.headers, ["access-control-allow-origin", "*"]]);
    wire.exchanges.push({ method, path: pathname, status, headers: seen, body: Buffer.concat(chunks), whole });
  }
  if (failed !== undefined) throw failed;
  signal?.throwIfAborted();
  if (answer.status === null || !answer.whole) throw new Error(`The page's request failed: ${answer.error}`);
  return { status: answer.status, body: Buffer.concat(chunks) };
}

const jsonType = { "content-type": "application/json" };

type PageRequest = {
  id: number;
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | undefined;
};
type PageAnswer = { status: number | null; headers: [string, string][]; whole: boolean; error: string };
declare global {
  interface Window {
    calls: { send(request: PageRequest): Promise<PageAnswer>; abort(id: number): void };
    onBytes(id: number, base64: string): Promise<void>;
  }
}

/** Runs in the page. */
function defineCalls(): void {
  const aborts = new Map<number, AbortController>();
  window.calls = {
    abort: (id) => aborts.get(id)?.abort(),
    async send({ id, url, method, headers, body }) {
      const controller = new AbortController();
      aborts.set(id, controller);
      const answer: PageAnswer = { status: null, headers: [], whole: false, error: "" };
      try {
        const response = await fetch(url, { method, headers, body: body ?? null, signal: controller.signal });
        answer.status = response.status;
        answer.headers = [...response.headers];
        const reader = response.body?.getReader();
        for (;;) {
          const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
          if (done || value === undefined) break;
          let binary = "";
          for (const byte of value) binary += String.fromCharCode(byte);
          await window.onBytes(id, btoa(binary));
        }
        answer.whole = true;
      } catch (error) {
        answer.error = String(error);
      }
      return answer;
    },
  };
}

type Site = { url: string; close(): Promise<void> };

async function serveEmptyPage(): Promise<Site> {
  const server: Server = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>Another origin</title>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
