import { equal, match, ok, rejects } from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { test } from "node:test";
import { keyMessageText } from "@inference/protocol/key-message";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { Context } from "./context.ts";
import { signInBrowser } from "./login-page.ts";

/** These tests play the page: its address, and the code that it hands over. */
const gateway = "https://gateway.example";
const terms = { name: "infer on büro", limit: "5.00", limit_reset: "daily" } as const;
const account = privateKeyToAccount(generatePrivateKey());

type Page = { callback: string; state: string; terms: Record<string, string> };

/** @param typed The pasted text; absent: there is no terminal. */
function login(page: (at: Page) => Promise<void>, typed?: (at: Page) => string[]) {
  let at: Page | undefined;
  const [said, opened]: [string[], string[]] = [[], []];
  const answers: string[] = [];
  const context = {
    say(line: string) {
      said.push(line);
      const [url] = /https:\S+/.exec(line) ?? [];
      if (url === undefined) return;
      const { callback, state, ...named } = Object.fromEntries(new URLSearchParams(url.split("?")[1]));
      at = { callback: callback ?? "", state: state ?? "", terms: named };
      answers.push(...(typed?.(at) ?? []));
    },
    isInteractive: typed !== undefined,
    ask: (_: string, { signal }: { signal?: AbortSignal } = {}) => {
      const next = answers.shift();
      return next !== undefined
        ? Promise.resolve(next)
        : new Promise<string>((_, reject) => signal?.addEventListener("abort", () => reject(new Error("aborted"))));
    },
    openPage: (url: string) => void opened.push(url),
  } as unknown as Context;
  const signed = signInBrowser(context, { gateway, terms, opensPage: true });
  const done = (async () => {
    while (at === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    await page(at);
  })();
  return { signed, done, said, opened };
}

async function sign(asked: Record<string, string>): Promise<{ message: string; signature: string }> {
  const message = keyMessageText({
    ...{ baseUrl: gateway, address: account.address, chainId: 1, nonce: "12345678", issuedAt: 0 },
    request: { type: "create", terms: asked },
  });
  return { message, signature: await account.signMessage({ message }) };
}

/** The status for a path that no browser would send. */
async function statusOf(callback: string, path: string): Promise<number | undefined> {
  const { hostname, port } = new URL(callback);
  const [response] = (await once(request({ hostname, port, path }).end(), "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

const codeOf = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

test("the page gets the terms, and the browser returns the signed message", async () => {
  const { signed, done, opened } = login(async ({ callback, state, terms: named }) => {
    match(callback, /^http:\/\/127\.0\.0\.1:\d+\/$/);
    const response = await fetch(`${callback}?code=${codeOf({ state, ...(await sign(named)) })}`);
    equal(response.status, 200);
    match(await response.text(), /go back to the terminal/);
  });
  const { message } = await signed;
  await done;
  match(message, /keys\?name=infer%20on%20b%C3%BCro&limit=5.00&limit_reset=daily$/);
  match(opened[0] ?? "", /^https:\/\/gateway\.example\/login\?callback=http/);
});

test("a code of another site or for other terms is refused, and the login continues", async () => {
  const { signed, done } = login(async ({ callback, state, terms: named }) => {
    const good = await sign(named);
    const wrong = [
      "",
      "x",
      codeOf({ state: "other", ...good }),
      codeOf({ state, ...(await sign({ ...named, limit: "5000" })) }),
      codeOf({ state, ...good, signature: "none" }),
    ];
    for (const code of wrong) equal((await fetch(`${callback}?code=${code}`)).status, 400, code);
    equal(await statusOf(callback, "//"), 400);
    equal((await fetch(`${callback}?code=${codeOf({ state, ...good })}`)).status, 200);
  });
  ok((await signed).signature.startsWith("0x"));
  await done;
});

test("a terminal on another machine takes the code that the page shows, also after a wrong one", async () => {
  const message = keyMessageText({
    ...{ baseUrl: gateway, address: account.address, chainId: 1, nonce: "12345678", issuedAt: 0 },
    request: { type: "create", terms },
  });
  const { signed, done, said } = login(
    async () => {},
    ({ state }) => ["half of it", `${codeOf({ state, message, signature: "0x12" })}\n`],
  );
  equal((await signed).message, message);
  await done;
  match(said.join("\n"), /copy all of it/);
});

test("the port is closed after a login", async () => {
  let address = "";
  const { signed, done } = login(async ({ callback, state, terms: named }) => {
    address = callback;
    await fetch(`${callback}?code=${codeOf({ state, ...(await sign(named)) })}`);
  });
  await signed;
  await done;
  await rejects(fetch(address));
});
