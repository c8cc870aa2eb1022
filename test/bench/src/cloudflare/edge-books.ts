import { randomBytes } from "node:crypto";
import { makeCredentials } from "@inference/gateway/auth/credentials";
import type { Saga, Step } from "@inference/ledger/saga";
import { issueKey, openAccount, openCeiling } from "../books.ts";

/** Makes a ceiling, and accounts with credit and a key each, through `books-worker.ts`. Answers the keys. */
export async function writeEdgeBooks(door: string, secret: Uint8Array, accounts: number): Promise<string[]> {
  const credentials = makeCredentials(secret, { bytes: randomBytes });
  const opened = Array.from({ length: accounts }, (_, account) => issueKey(credentials, account));
  await post(door, [stepsOf(openCeiling())]);
  for (let begin = 0; begin < accounts; begin += AT_ONCE) {
    await post(
      door,
      opened.slice(begin, begin + AT_ONCE).map((account) => stepsOf(openAccount(account))),
    );
  }
  return opened.map(({ text }) => text);
}

export async function post(door: string, lists: readonly (readonly Step[])[]): Promise<void> {
  const response = await fetch(door, { method: "POST", body: JSON.stringify(lists) });
  if (!response.ok) throw new Error(`the books' door answered ${response.status}: ${await response.text()}`);
}

const AT_ONCE = 100;

/** The steps of a saga that looks at no reply. */
function stepsOf(saga: Saga<void>): Step[] {
  const steps: Step[] = [];
  for (let step = saga.next(); !step.done; step = saga.next({ status: "set" })) steps.push(step.value);
  return steps;
}
