import { deepEqual, equal, match, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { makeSkill } from "@inference/gateway/docs/skill-text";
import { type Hex, hexToBigInt, hexToNumber } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { readCredits } from "./testing/api.ts";
import { shareDevnet, type TestedDevnet } from "./testing/shared-devnet.ts";

/** The skill, followed to the letter by a program that has `fetch` and signs, and knows nothing else of the service. */
let devnet: TestedDevnet;

before(async () => {
  devnet = await shareDevnet(3);
});

for (const [wallet, how] of process.env.DEEP === "1"
  ? (["signature", "transaction"] as const).entries()
  : ([[0, "signature"]] as const))
  test(`who follows /skill.md with HTTP and a signing function alone gets an answer and its receipt, and pays by ${how}`, async () => {
    const account = privateKeyToAccount(devnet.ready.wallets[wallet + 1]?.privateKey ?? "0x");
    const shown = await read("/skill.md");
    match(shown, /^---\nname: [a-z-]{1,64}\ndescription: .{1,1024}\n---\n/);
    const [, model = ""] = /"model": "(.*?)"/.exec(shown) ?? [];
    const text = makeSkill({ baseUrl: devnet.ready.gatewayUrl, model, hasRelay: how === "signature" });
    if (how === "signature") equal(text, shown);
    const kept = await follow(stepsOf(text), account);
    ok(String(kept.answer).length > 3);
    ok(Number(kept.cost) > 0);
    const credits = await readCredits(devnet.ready.gatewayUrl, String(kept.key));
    deepEqual(
      [credits.total_credits_nano_usd, credits.total_usage_nano_usd],
      [5_000_000_000, Math.round(Number(kept.cost) * 1e9)],
    );
  });

test("/llms.txt has the same steps", async () => {
  deepEqual(stepsOf(between(await read("/llms.txt"), "### 1.", "### Later")), stepsOf(await read("/skill.md")));
});

type Step =
  | { kind: "request"; text: string }
  | { kind: "keep"; values: [name: string, path: string][] }
  | { kind: "sign"; using: string; name: string; text: string }
  | { kind: "repeat"; path: string; wanted: string };

const PATTERNS = [
  /^```http\n(?<request>.*?)\n```$/,
  /^Keep (?<keep>`.*?)\.$/,
  /^Sign with `(?<using>\w+)`, as `(?<name>\w+)`:\n\n```\w+\n(?<text>.*?)\n```$/,
  /^Repeat this each second until `(?<path>[\w.]+)` is (?<wanted>(?:above )?`\w+`)\./,
];

/** The steps in their order. Other sentences explain, and a program passes over them. */
function stepsOf(page: string): Step[] {
  const all = new RegExp(PATTERNS.map(({ source }) => source.replaceAll(/\?<(\w+)>/g, "?<$1>")).join("|"), "gms");
  return [...page.matchAll(all)].map(({ groups = {} }): Step => {
    const { request, keep, using = "", name = "", text = "", path = "", wanted = "" } = groups;
    if (request !== undefined) return { kind: "request", text: request };
    if (keep !== undefined) {
      const pairs = keep.split(". ")[0]?.matchAll(/`(\w+)`\s+from\s+`([\w.]+)`/g) ?? [];
      return { kind: "keep", values: [...pairs].map(([, name = "", path = ""]) => [name, path]) };
    }
    if (using !== "") return { kind: "sign", using, name, text };
    return { kind: "repeat", path, wanted };
  });
}

async function follow(steps: readonly Step[], account: PrivateKeyAccount): Promise<Record<string, unknown>> {
  const kept: Record<string, unknown> = { address: account.address };
  let last: (() => Promise<unknown>) | undefined;
  let answer: unknown;
  for (const step of steps) {
    if (step.kind === "request") {
      const { text } = step;
      last = () => send(text, kept);
      answer = await last();
    } else if (step.kind === "keep") {
      for (const [name, path] of step.values) {
        kept[name] = at(answer, path) ?? kept[name];
        ok(kept[name] !== undefined, `${path} in ${JSON.stringify(answer)}`);
      }
    } else if (step.kind === "sign") {
      const text = filled(step.text, kept);
      const sign = signers[step.using];
      ok(sign !== undefined, `the skill says what \`${step.using}\` does`);
      kept[step.name] = await sign(account, text);
    } else {
      while (!isWanted(at(answer, step.path), step.wanted)) {
        await pause(1_000);
        answer = await last?.();
      }
    }
  }
  return kept;
}

/** The functions that the skill asks for. */
const signers: Readonly<Record<string, (account: PrivateKeyAccount, text: string) => Promise<Hex>>> = {
  sign_message: (account, message) => account.signMessage({ message }),
  sign_typed_data: (account, text) => account.signTypedData(JSON.parse(text)),
  sign_transaction(account, text) {
    const { chainId, nonce, gasPrice, gas, to, value, data } = JSON.parse(text) as Record<string, Hex>;
    return account.signTransaction({
      type: "legacy",
      chainId: Number(chainId),
      nonce: hexToNumber(nonce ?? "0x"),
      ...{ gasPrice: hexToBigInt(gasPrice ?? "0x"), gas: hexToBigInt(gas ?? "0x"), value: hexToBigInt(value ?? "0x") },
      ...{ to: to ?? "0x", data: data ?? "0x" },
    });
  },
};

/** Sends a printed request without a change. A failure ends the run. */
async function send(text: string, kept: Readonly<Record<string, unknown>>): Promise<unknown> {
  const [head = "", body] = text.split("\n\n");
  const [line = "", ...headers] = filled(head, kept).split("\n");
  const [method = "", url = ""] = line.split(" ");
  const response = await fetch(url, {
    method,
    headers: headers.map((header) => header.split(": ") as [string, string]),
    ...(body === undefined ? {} : { body: filled(body, kept, true) }),
  });
  const answer: unknown = await response.json();
  ok(response.ok && at(answer, "error") === undefined, `${line}: ${JSON.stringify(answer)}`);
  return answer;
}

/** @param isJson The values become parts of JSON strings. */
function filled(text: string, kept: Readonly<Record<string, unknown>>, isJson = false): string {
  return text.replace(/\{(\w+)(:hex)?\}/g, (_, name: string, hex?: string) => {
    ok(name in kept, `\`${name}\` was kept by no step`);
    const given = kept[name];
    if (typeof given === "object") return JSON.stringify(given);
    const value = String(given);
    if (hex !== undefined) return value.slice(2).toLowerCase();
    return isJson ? JSON.stringify(value).slice(1, -1) : value;
  });
}

function at(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((inner, name) => (inner as Record<string, unknown> | null)?.[name], value);
}

function isWanted(value: unknown, wanted: string): boolean {
  ok(value !== "0x0", "the transaction failed");
  const [, isAbove, bound] = /^(above )?`(\w+)`$/.exec(wanted) ?? [];
  return isAbove === undefined ? value === bound : Number(value) > Number(bound);
}

function between(text: string, from: string, to: string): string {
  return text.slice(text.indexOf(from), text.indexOf(to));
}

async function read(path: string): Promise<string> {
  const response = await fetch(devnet.ready.gatewayUrl + path);
  equal(response.status, 200, path);
  return response.text();
}
