import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { buyToPar, sellTokens } from "@inference/devnet/testing/market";
import { shareDevnet, type TestedDevnet } from "@inference/devnet/testing/shared-devnet";
import { inferenceTokenAbi } from "@inference/protocol/abi/inference-token";
import { stablecoinAbi } from "@inference/protocol/abi/stablecoin";
import { inDeepRun } from "@inference/protocol/testing/deep";
import { privateKeyToAccount } from "viem/accounts";
import { setAutoTopUp } from "./auto-top-up.ts";
import { chainClients } from "./chain-clients.ts";
import { contractOn } from "./directory.ts";
import {
  type BegunTransaction,
  type Client,
  ContractError,
  createClient,
  type Payment,
  type ProgramPayment,
  type Progress,
  phaseOf,
} from "./index.ts";
import { dollarScale } from "./pay-dollars.ts";

/** The library against three chains and a gateway. */
const DOLLAR = 1_000_000n;
let devnet: TestedDevnet;

before(async () => {
  devnet = await shareDevnet();
});

function clientOf(wallet: number): Client {
  const account = privateKeyToAccount(devnet.ready.wallets[wallet]?.privateKey ?? "0x");
  return createClient({ gateway: devnet.ready.gatewayUrl, account, pollMs: 50 });
}

test("the program of the README runs", async () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [, program = ""] = /```js\n([\s\S]*?)```/.exec(readme) ?? [];
  const { privateKey = "" } = devnet.ready.wallets[1] ?? {};
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
    cwd: fileURLToPath(new URL("..", import.meta.url)),
    env: { PATH: process.env.PATH, GATEWAY_URL: devnet.ready.gatewayUrl, PRIVATE_KEY: privateKey },
  });
  equal(stdout, "$5 for ik_...\n");
  match(stderr, /mint signed\nmint sent\nmint confirmed\nactivate signed\nactivate sent\nactivate confirmed\n/);
  match(stderr, /activate final\n(activate waiting\n)*activate credited\n/);
});

const PAID = [
  [31_337, "permit"],
  [31_337, "approve"],
  [31_338, undefined],
  [31_339, undefined],
] as const;
for (const [chainId, pay] of process.env.DEEP === "1" ? PAID : PAID.slice(0, 3)) {
  test(`dollars of chain ${chainId} become balance, paid by ${pay ?? "either"}`, async () => {
    const client = clientOf(2);
    const before = (await client.credits()).total_credits_nano_usd;
    const told: Progress[] = [];
    const onProgress = (progress: Progress) => void told.push(progress);
    await client.mint({ amountToken: 2n * DOLLAR, chainId, onProgress, ...(pay === undefined ? {} : { pay }) });
    await client.activateFrom({ amountToken: 2n * DOLLAR, chainId, onProgress });
    const { total_credits_nano_usd: total } = await client.credits();
    equal(total, before + 2_000_000_000);
    const stages = told.filter(({ stage }) => stage !== "waiting").map(({ step, stage }) => `${step} ${stage}`);
    const step = chainId === 31_337 ? "activate" : "activateFrom";
    const ends = [`${step} signed`, `${step} sent`, `${step} confirmed`, `${step} final`, `${step} credited`];
    deepEqual(stages.slice(-5), ends);
    if (pay !== undefined) equal(stages.includes("approve signed"), pay === "approve");
    equal(await tokensOf(client, chainId), 0n);
  });
}

for (const chainId of process.env.DEEP === "1" ? [31_337, 31_338, 31_339] : [31_337]) {
  test(`a program has a key with dollars of chain ${chainId} by signatures alone, however often it is interrupted`, async () => {
    const client = clientOf(4);
    const before = {
      total: (await client.credits()).total_credits_nano_usd,
      dollars: await dollarsOf(client, chainId),
    };
    const states: ProgramPayment[] = [];
    const run = (kept: ProgramPayment | null, dies = -1) =>
      client.topUpWithKey({
        ...{ amountToken: 2n * DOLLAR, chainId, terms: { name: "program" }, kept },
        keep(state) {
          states.push(state);
          if (states.length === dies) throw new Error("died");
        },
      });
    await rejects(run(null, 1), /died/);
    await rejects(run(states.at(-1) ?? null, 3), /died/);
    const [first, again] = [await run(states.at(-1) ?? null), await run(states.at(-1) ?? null)];
    equal(again.apiKey, first.apiKey);
    deepEqual([again.topUp.state, again.topUp.id], ["credited", first.topUp.id]);
    equal(new Set(states.map(({ signed }) => signed?.signature)).size, 1, "signed once");
    const asProgram = createClient({ gateway: devnet.ready.gatewayUrl, apiKey: first.apiKey });
    equal((await asProgram.credits()).total_credits_nano_usd, before.total + 2_000_000_000);
    const fee = BigInt(first.topUp.fee_token);
    const scale = await dollarScale(client.connection, await chainClients(client.connection, chainId));
    equal(before.dollars - (await dollarsOf(client, chainId)), (2n * DOLLAR + fee) * scale);
    await rejects(client.signTopUp({ amountToken: DOLLAR, chainId, maxFeeToken: fee - 1n }), { code: "cost_too_high" });
    await rejects(client.signTopUp({ amountToken: 10n ** 14n, chainId }), { errorName: "ERC20InsufficientBalance" });
  });
}

for (const at of ["signed", "sent", "confirmed"] as const) {
  test(`interrupted when each transaction is ${at}, a payment goes on and nothing is paid twice`, async () => {
    const client = clientOf(3);
    const before = { credits: await client.credits(), dollars: await dollarsOf(client) };
    let payment: Payment = {
      ...{ chainId: 31_337, amountToken: String(DOLLAR), pay: "either", isMinted: false, isCredited: false },
      ...{ kept: null, shown: null },
    };
    const died: string[] = [];
    const signed: BegunTransaction[] = [];
    const keep = (next: Payment) => {
      payment = JSON.parse(JSON.stringify(next)) as Payment;
      const { step = "", stage } = next.shown ?? {};
      if (stage === "signed" && next.kept !== null) signed.push(next.kept);
      if (stage !== at || died.includes(step)) return;
      died.push(step);
      throw new Error("the process dies here");
    };
    const options = { keep, mayAsk: true, signal: new AbortController().signal };
    await rejects(client.runPayment(payment, options), /dies here/);
    await rejects(clientOf(3).runPayment(payment, options), /dies here/);
    equal(phaseOf(await clientOf(3).runPayment(payment, options)), "done");
    deepEqual(
      [died, signed.map(({ step }) => step)],
      [
        ["mint", "activate"],
        ["mint", "activate"],
      ],
    );
    // Resuming again is harmless.
    for (const each of signed) equal((await client.resume(each)).hash, each.hash);
    equal(await dollarsOf(client), before.dollars - DOLLAR);
    equal(await tokensOf(client, 31_337), 0n);
    const { total_credits_nano_usd: total } = await client.credits();
    equal(total, before.credits.total_credits_nano_usd + 1_000_000_000);
  });
}

test("tokens are bought in the market pool below a dollar, and never above the limit", inDeepRun, async () => {
  await buyToPar(devnet.ready, 4);
  const client = clientOf(3);
  const amountToken = 10n * DOLLAR;
  const atPar = await client.quoteMarket({ amountToken });
  ok(atPar !== null && atPar.costToken > amountToken && atPar.costToken < amountToken + amountToken / 50n);
  await sellTokens(devnet.ready, 4, 100n * DOLLAR);
  const quote = await client.quoteMarket({ amountToken });
  ok(quote !== null && quote.costToken < amountToken);
  for (const pay of ["permit", "approve"] as const) {
    const [now, before] = [await client.quoteMarket({ amountToken }), await dollarsOf(client)];
    const tokens = await tokensOf(client, 31_337);
    await client.buy({ amountToken, pay });
    equal(await tokensOf(client, 31_337), tokens + amountToken);
    equal(before - (await dollarsOf(client)), now?.costToken);
  }
  const before = await dollarsOf(client);
  await rejects(client.buy({ amountToken, maxCostToken: quote.costToken - DOLLAR }), { code: "price_moved" });
  equal(await dollarsOf(client), before);
  equal(await client.quoteMarket({ amountToken: 10_000n * DOLLAR }), null);
});

test("a transaction that would fail is not sent, and its error is named, inherited ones too", async () => {
  const client = clientOf(4);
  const isNamed = (name: string) => (error: unknown) => error instanceof ContractError && error.errorName === name;
  await rejects(client.activate({ amountToken: DOLLAR }), isNamed("ERC20InsufficientBalance"));
  await rejects(client.activate({ amountToken: 0n }), isNamed("ZeroAmount"));
  await rejects(client.activateFrom({ amountToken: DOLLAR, chainId: 31_338 }), isNamed("ERC20InsufficientBalance"));
  const over = { maxPerDayToken: 5n * DOLLAR, expiresAt: new Date(0) };
  await rejects(setAutoTopUp(client.connection, over), { code: "order_over" });
  const aborted = AbortSignal.abort(new Error("enough"));
  await client.mint({ amountToken: DOLLAR });
  await rejects(client.activate({ amountToken: DOLLAR, signal: aborted }), /enough/);
});

async function tokensOf({ connection }: Client, chainId: number): Promise<bigint> {
  const { reader, entry } = await chainClients(connection, chainId);
  const address = contractOn(connection, entry, "inferenceToken");
  const args = [connection.account?.address ?? "0x"] as const;
  return reader.readContract({ address, abi: inferenceTokenAbi, functionName: "balanceOf", args });
}

async function dollarsOf({ connection }: Client, chainId?: number): Promise<bigint> {
  const { reader, entry } = await chainClients(connection, chainId);
  const address = contractOn(connection, entry, "stablecoin");
  const args = [connection.account?.address ?? "0x"] as const;
  return reader.readContract({ address, abi: stablecoinAbi, functionName: "balanceOf", args });
}
