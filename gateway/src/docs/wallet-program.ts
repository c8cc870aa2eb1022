import examples from "./generated/examples.json" with { type: "json" };
import { type ExampleTerms, filledIn } from "./snippets.ts";

/** A step from dollars in a wallet to a paid request: an explanation, and a part of a program. */
export type WalletStep = { id: string; title: string; about: string; code: string };

/**
 * The steps of `docs/examples/first-key.mjs`. Each begins with a comment: its id and title, then the explanation. Their
 * code in this order is one program, which tests run on every chain of a devnet. It reads `PRIVATE_KEY`, and `CHAIN_ID`
 * and `RPC_URL` if they are set.
 */
export function walletSteps(terms: ExampleTerms): WalletStep[] {
  const [, ...parts] = examples["first-key.mjs"].split(/^\/\/ # /m);
  return parts.map((part) => {
    const [head = "", ...code] = part.trimEnd().split("\n\n");
    const [first = "", ...about] = head.split("\n");
    const [id = "", title = ""] = first.split(": ");
    const words = about.map((line) => line.slice("// ".length)).join(" ");
    return { id, title, about: words, code: filledIn(code.join("\n\n"), terms) };
  });
}

/** Replaces `mint` and `activate` in one transaction. On the primary chain only. */
export const mintAndActivate = `await send({
  ...contract("tokenMinter"),
  functionName: "mintAndActivate",
  args: [amount, account.address],
});`;
