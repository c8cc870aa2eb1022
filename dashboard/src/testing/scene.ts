import { equal } from "node:assert/strict";
import { ask as askDevnet } from "@inference/devnet/ask";
import type { ReadyFile } from "@inference/devnet/ready";
import { createAgent, setComputer } from "@inference/sdk/agents";
import { stake } from "@inference/sdk/backing";
import { createClient } from "@inference/sdk/client";
import { putOffer } from "@inference/sdk/offers";
import { mintRewards } from "@inference/sdk/testing/rewards";
import { type Address, parseUnits } from "viem";
import { privateKeyToAccount } from "viem/accounts";

/** Real use of some days, by the account of the wallet with a balance. */
type Scene = {
  /** An agent that the wallet made, stakes for and sells capacity of. */
  agentToken: Address;
  /** A receipt of the day before the last. */
  receipt: string;
};

const KEYS = [
  { name: "codex", limit_daily: "5.00", requests_per_minute: "600" },
  { name: "support-bot", limit_monthly: "2.50", limit_daily: "0.50" },
  { name: "laptop", limit_lifetime: "5.00", models: "alder-*,heath-image" },
  { name: "index", limit_monthly: "1.00" },
] as const;
type KeyName = (typeof KEYS)[number]["name"];

/** Requests of a full day: the key, the model, the tag, and the tokens of the answer or, for images, nothing. */
const DAY: readonly [KeyName, string, string, number][] = [
  ["codex", "corrie-code-32b", "repository", 7_000],
  ["codex", "corrie-code-32b", "repository", 8_100],
  ["codex", "fellside-1", "review", 4_300],
  ["support-bot", "alder-120b", "tickets", 6_400],
  ["support-bot", "alder-27b", "tickets", 3_900],
  ["support-bot", "tarn-reason-70b", "tickets", 5_200],
  ["laptop", "heath-image", "blog", 0],
  ["laptop", "alder-4b", "blog", 2_600],
  ["codex", "corrie-code-32b", "repository", 6_200],
  ["codex", "fellside-1", "review", 3_100],
];
/** The use of the days before today, in parts of a full day. */
const PACE = [0.7, 1, 1.3, 0.4, 1.1] as const;

/** Plays the scene. The devnet is in `folder`; its gateway starts again on each day. */
export async function playScene(ready: ReadyFile, folder: string): Promise<Scene> {
  const [owner, other] = ready.wallets.map(({ privateKey }) => privateKeyToAccount(privateKey));
  if (owner === undefined || other === undefined) throw new Error("The devnet has no wallets.");
  const { gatewayUrl: gateway } = ready;
  const command = (name: string, ...args: string[]) => askDevnet(folder, { command: name, args, say: () => {} });
  for (const { address } of [owner, other]) await command("faucet", address);
  const clientOf = (account: typeof owner) => createClient({ gateway, account, pollMs: 50 });
  const client = clientOf(owner);
  const secrets = new Map<string, string>();
  for (const terms of KEYS) secrets.set(terms.name, (await client.createKey(terms)).key);

  const { agent } = await createAgent(client.connection, {
    name: "Heron",
    symbol: "HRN",
    supply: parseUnits("1000000", 18),
  });
  const agentToken = agent.token;
  await stake(client.connection, { agentToken, amount: parseUnits("12", 18), as: "back" });
  await stake(clientOf(other).connection, { agentToken, amount: parseUnits("8", 18), as: "back" });
  await setComputer(client.connection, { agentToken, computer: owner });
  await putOffer(client.connection, { computer: owner, agentToken, isStanding: true, shareBps: 6_000 });

  /** Sends a request. Returns its id. */
  const send = async ([key, model, tag, tokens]: (typeof DAY)[number]): Promise<string> => {
    const [path, body] = model.startsWith("heath")
      ? ["images/generations", { model, prompt: "A heron in the reeds" }]
      : ["chat/completions", chatOf(model, tokens)];
    const answer = await fetch(`${gateway}/api/v1/${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${secrets.get(key)}`,
        "content-type": "application/json",
        "x-title": tag,
      },
      body: JSON.stringify(body),
    });
    equal(answer.status, 200, await answer.text());
    return answer.headers.get("x-request-id") ?? "";
  };

  let receipt = "";
  for (const pace of PACE) {
    for (const [key, model, tag, tokens] of DAY) {
      const id = await send([key, model, tag, Math.round(tokens * pace)]);
      if (model === "corrie-code-32b") receipt = id;
    }
    await command("day");
  }
  for (const request of DAY.slice(0, 7)) await send(request);
  const [, secondary] = ready.chains;
  // The client of the first day has the clock of that day.
  const today = clientOf(owner);
  const payment = { amountToken: 5_000_000n, chainId: secondary?.chainId ?? 0 };
  await today.mint(payment);
  await today.activateFrom(payment);
  await mintRewards(today, { ready, agentToken, amountToken: 4_000_000n });
  const ids = new Map((await today.keys.list()).map(({ name, id }) => [name, id]));
  await today.keys.change(ids.get("index") ?? "", { disabled: true });
  // A limit that is near, whatever the day of the month.
  await today.keys.change(ids.get("codex") ?? "", { limit_daily: "0.08" });
  return { agentToken, receipt };
}

function chatOf(model: string, tokens: number): object {
  const content = `Explain the change, in detail. ${"The river is high this week. ".repeat(120)}[[tokens=${tokens}]]`;
  return { model, max_tokens: tokens, messages: [{ role: "user", content }] };
}
