import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { keyMessageText } from "@inference/protocol/key-message";
import { inDeepRun } from "@inference/protocol/testing/deep";
import * as Keystore from "ox/Keystore";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { makeTerminal } from "./in-process.ts";
import { openTty, withoutTerminal } from "./terminal.ts";

/** The screen after a question. */
const PROMPT = /> [^\n]*$/;
const UP = "\x1b[A";
const restored = (code: number) => ({ code, isRestored: true });
const skip = withoutTerminal;
const inDepth = { skip: skip || inDeepRun.skip };

type Terminal = Pick<ReturnType<typeof makeTerminal>, "infer" | "variables">;

/** The command line at a terminal. */
export function testTty(gateway: () => string, openTerminal: () => Terminal): void {
  test("a password is not shown, and Ctrl-C at its question leaves the terminal as it was", { skip }, async () => {
    const { home, variables, remove } = makeTerminal();
    const file = join(home, "keystore");
    const key = generatePrivateKey();
    const [derived, options] = Keystore.scrypt({ password: "correct horse", n: 1_024 });
    writeFileSync(file, JSON.stringify(Keystore.encrypt(key, derived, options)));
    try {
      const cases = [
        ["correct horse\r", 0, /Logged in to .* as 0x/],
        ["correct ho\x03", 130, /Interrupted\.\r?\n/],
      ] as const;
      const tries = cases.map(async ([typed, code, said]) => {
        const tty = await openTty(["login", "--gateway", gateway(), "--keystore", file], variables);
        await tty.shows(/Password of .*: /);
        tty.type(typed);
        deepEqual(await tty.ended(), restored(code), tty.screen());
        match(tty.screen(), said);
        ok(!tty.screen().includes("horse") && !tty.screen().includes("correct"), tty.screen());
      });
      await Promise.all(tries);
      const tty = await openTty(["wallet", "--gateway", gateway(), "--private-key", "-"], variables);
      await tty.shows(/Private key: /);
      tty.type(`${key}\r`);
      deepEqual(await tty.ended(), restored(0));
      ok(!tty.screen().includes(key.slice(2, 12)));
    } finally {
      remove();
    }
  });

  test("a login takes a pasted code, then a conversation continues until Ctrl-D", inDepth, async () => {
    const { variables, remove } = makeTerminal();
    try {
      const account = privateKeyToAccount(generatePrivateKey());
      const login = await openTty(["login", "--gateway", gateway(), "--no-browser"], variables);
      const [url] = await login.shows(/http:\S+\/login\?\S+/);
      await login.shows(/paste the code that it shows: /);
      login.type("half of it\r");
      await login.shows(/copy all of it[\s\S]*paste the code that it shows: /);
      const { state, callback: _, ...terms } = Object.fromEntries(new URLSearchParams(url.split("?")[1]));
      const message = keyMessageText({
        ...{ baseUrl: gateway(), address: account.address, chainId: 31_337, nonce: "12345678", issuedAt: Date.now() },
        request: { type: "create", terms },
      });
      const signature = await account.signMessage({ message });
      login.type(`${Buffer.from(JSON.stringify({ state, message, signature })).toString("base64url")}\r`);
      deepEqual(await login.ended(), restored(0), login.screen());
      match(login.screen(), new RegExp(`Logged in to .* as ${account.address}`));

      // It has no balance, and says what to do.
      const chat = await openTty(["chat"], variables);
      await chat.shows(PROMPT);
      chat.type("Hello\r");
      deepEqual(await chat.ended(), restored(1));
      match(chat.screen(), /Model \S+, the cheapest[\s\S]*> [\s\S]*Hello/);
      const ended = await openTty(["chat"], variables);
      await ended.shows(PROMPT);
      ended.type("\x04");
      deepEqual(await ended.ended(), restored(2), ended.screen());
    } finally {
      remove();
    }
  });

  test("each question of a conversation is shown once as typed, and the end shows the total cost", {
    skip,
  }, async () => {
    const { infer, variables } = openTerminal();
    equal((await infer("login", "--devnet")).code, 0);
    const argv = ["chat", "--model", "alder-4b", "--max-tokens", "9"];
    const tty = await openTty(argv, { ...variables, PTY_COLUMNS: "120" });
    const asksAgain = (answers: number) => tty.shows(new RegExp(`(?:Receipt req_[\\s\\S]*){${answers}}> [^\\n]*$`));
    for (const [answers, typed] of ["one", "\x1b[200~two\nlines\x1b[201~", "three", UP + UP].entries()) {
      await asksAgain(answers);
      tty.type(`${typed}\r`);
    }
    await asksAgain(4);
    tty.type("/cost\r\r/model alder-27b\r/model none\r");
    await tty.shows(/4 answers for [\s\S]*Model alder-27b\.[\s\S]*no model `none`[\s\S]*> [^\n]*$/);
    tty.type("five\\\r");
    await tty.shows(/\n\. [^\n]*$|\r\. [^\n]*$|J\. [^\n]*$/);
    tty.type("more\r");
    await tty.shows(/alder-27b: \$[\s\S]*Receipt[\s\S]*> [^\n]*$/);
    tty.type("\x04");
    deepEqual(await tty.ended(), restored(0), tty.screen());
    // biome-ignore lint/suspicious/noControlCharactersInRegex: readline moves the cursor with them
    const shown = tty.screen().replaceAll(/\x1b\[\??[0-9;]*[A-Za-z]/g, "");
    deepEqual(
      [...shown.matchAll(/> ([\w\u23ce]+)\r*\n/g)].map(([, line]) => line),
      ["one", "two\u23celines", "three", "two\u23celines"],
      shown,
    );
    const total = /\n5 answers for \$(0\.0000\d+)\.\r*\n/.exec(shown)?.[1];
    const costs = [...shown.matchAll(/: \$(0\.\d+) for \d+ input/g)].map(([, cost]) => Number(cost));
    ok(Math.abs(Number(total) - costs.reduce((sum, cost) => sum + cost, 0)) < 1e-10, shown);
  });

  test("Ctrl-C while a login waits for the browser ends it, and names what is unfinished", inDepth, async () => {
    const { variables, remove } = makeTerminal();
    const pending = join(variables.XDG_STATE_HOME ?? "", "infer/pending");
    mkdirSync(pending, { recursive: true });
    writeFileSync(join(pending, "31337-0x1.json"), "{}");
    const tty = await openTty(["login", "--gateway", gateway(), "--no-browser"], variables);
    await tty.shows(/paste the code that it shows: /);
    tty.type("\x03");
    deepEqual(await tty.ended(), restored(130));
    equal(tty.screen().includes("Logged in"), false);
    match(tty.screen(), /Interrupted\. A transaction is not finished: `infer resume` finishes it\./);
    remove();
  });
}
