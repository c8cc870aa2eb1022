import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type KeyTermTexts, keyResource } from "@inference/protocol/key-message";
import { parseSiweMessage } from "@inference/protocol/siwe";
import * as z from "zod";
import type { Context } from "./context.ts";
import { CommandError, UsageError } from "./errors.ts";

/** A message signed in the browser. The gateway makes a key of it, once. */
export type SignedMessage = { message: string; signature: string };

const code = z.strictObject({
  state: z.string(),
  message: z.string(),
  signature: z.string().regex(/^0x([0-9a-fA-F]{2})*$/),
});

/** The time for a person to sign: a message is valid for ten minutes. */
const LOGIN_MS = 600_000;

/**
 * Opens the gateway's page, which signs for a key with these terms. The page hands over a code, to a port of this
 * machine or by typing. `cli/README.md` has the contract. Throws `CommandError`.
 */
export async function signInBrowser(
  context: Context,
  { gateway, terms, opensPage }: { gateway: string; terms: KeyTermTexts; opensPage: boolean },
): Promise<SignedMessage> {
  const state = randomBytes(16).toString("base64url");
  const check = (text: string): SignedMessage => readCode(text, { state, gateway, terms });
  const { server, callback, received } = await listen(check);
  const typing = new AbortController();
  try {
    const named = Object.entries(terms).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const url = `${gateway}/login?${new URLSearchParams([["callback", callback], ["state", state], ...named])}`;
    context.say(`Sign in with your wallet on this page:\n\n  ${url}\n`);
    if (opensPage) context.openPage(url);
    const late = new Promise<never>((_, reject) => {
      setTimeout(() => reject(new CommandError("Nobody signed within ten minutes.")), LOGIN_MS).unref();
    });
    const typed = context.isInteractive ? typedCode(context, check, typing.signal) : new Promise<never>(() => {});
    typed.catch(() => {});
    return await Promise.race([received, typed, late]);
  } finally {
    typing.abort();
    server.closeAllConnections();
    server.close();
  }
}

/** Reads a typed code, because the page may be on another machine. Asks again after a wrong code. */
async function typedCode(
  { ask, say }: Context,
  check: (text: string) => SignedMessage,
  signal: AbortSignal,
): Promise<SignedMessage> {
  for (;;) {
    const text = await ask("Waiting. If the browser is on another machine, paste the code that it shows: ", { signal });
    // The page can still send the code.
    if (text === undefined) return new Promise<never>(() => {});
    try {
      return check(text.trim());
    } catch (error) {
      say((error as Error).message);
    }
  }
}

/** Resolves when the page has sent the browser here with a good code. */
async function listen(check: (text: string) => SignedMessage) {
  let resolve: (message: SignedMessage) => void;
  const received = new Promise<SignedMessage>((done) => {
    resolve = done;
  });
  const server: Server = createServer((request, response) => {
    const page = (status: number, words: string): void => {
      const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store", connection: "close" };
      response.writeHead(status, { ...headers, "referrer-policy": "no-referrer" }).end(words);
    };
    try {
      // Any page that finds the port can send any path: `//` is no address.
      const signed = check(new URL(request.url ?? "/", "http://127.0.0.1").searchParams.get("code") ?? "");
      page(200, "Signed. You can close this page and go back to the terminal.\n");
      response.once("finish", () => resolve(signed));
    } catch (error) {
      page(400, `${(error as Error).message}\n`);
    }
  });
  server.listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  return { server, callback: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, received };
}

/** Throws unless the code is for this login and its message has the requested terms. */
function readCode(
  text: string,
  { state, gateway, terms }: { state: string; gateway: string; terms: KeyTermTexts },
): SignedMessage {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
  } catch {}
  const read = code.safeParse(value);
  if (!read.success) throw new UsageError("This is not the code that the page shows: copy all of it.");
  const { state: answered, message, signature } = read.data;
  if (answered !== state) throw new UsageError("This code is of another login: open the page that this one names.");
  const asked = keyResource(gateway, { type: "create", terms });
  const { resources = [] } = parseSiweMessage(message) ?? {};
  if (resources.length === 1 && resources[0] === asked) return { message, signature };
  throw new UsageError(`The page signed another message than for ${asked}.`);
}
