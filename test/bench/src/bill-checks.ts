import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startPrimaryChain } from "@inference/chain/testing/primary-chain";
import { freePort } from "@inference/contracts/free-port";
import { makeKeccak } from "@inference/protocol/keccak-wasm";
import type { CheckersOrder, CheckersReport } from "./bill-checkers.ts";
import { cpuMs } from "./cpu.ts";
import { gatewaySettings } from "./gateway-settings.ts";
import { floodModel } from "./load-plan.ts";
import { median, percentile } from "./percentile.ts";
import { firstLine, type Started, start, startScript } from "./process.ts";
import { realDirectory } from "./real-directory.ts";
import { CHAIN_ID, openSettledBooks } from "./settled-books.ts";
import { table } from "./table.ts";

// Measures the waits of a paying customer while all users check their bills repeatedly. The accounts have final
// statements on a real local chain. Rounds without and with the users take turns. Gateway, provider and users have a
// process each, and the customer asks at a steady rate from this one.
//
//     node tools/run.mjs test/bench/src/bill-checks.ts [--users 500] [--rounds 8] [--seconds 8]

const budgets = { p99Ratio: 1.5 };
const EACH_MS = 25;
const WARMUP_MS = 1_000;

const { values } = parseArgs({
  options: {
    users: { type: "string", default: "500" },
    uses: { type: "string", default: "200" },
    statements: { type: "string", default: "4" },
    rounds: { type: "string", default: "8" },
    seconds: { type: "string", default: "8" },
  },
});
const [USERS, USES, STATEMENTS] = [Number(values.users), Number(values.uses), Number(values.statements)];
const FOR_MS = 1_000 * Number(values.seconds);

type Waited = { waitedMs: number[]; refused: number };
type Round = Waited & { turnMs: number; cpuMs: number; report: CheckersReport };

const running: { stop(): Promise<unknown> }[] = [];
const agent = new Agent({ keepAlive: true });
const directory = await realDirectory("bills-");
try {
  await measure();
} finally {
  agent.destroy();
  await Promise.all(running.map((each) => each.stop()));
  await rm(directory, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  const file = join(directory, "gateway.sqlite");
  const secret = randomBytes(32);
  const { rpcUrl, settlement, startBlock, owners } = await makeBooks(file, secret);
  const provider = await startScript("./fixed-upstream.ts", []);
  running.push(provider);
  const port = await freePort();
  const script = new URL(import.meta.resolve("@inference/host-node/testing/neighbours/measured-gateway")).pathname;
  const gateway = await start(process.execPath, [script], {
    ipc: true,
    env: {
      ...(await gatewaySettings(await firstLine(provider), secret)),
      PRIMARY_RPC_URL: rpcUrl,
      SETTLEMENT_ADDRESS: settlement,
      SETTLEMENT_START_BLOCK: String(startBlock),
      HOST: "127.0.0.1",
      PORT: String(port),
      BASE_URL: `http://127.0.0.1:${port}`,
      DATABASE_FILE: file,
      // As in production, and each user at an address of its own.
      ACCOUNT_REQUESTS_PER_MINUTE: "30000",
      ADDRESS_REQUESTS_PER_MINUTE: "60000",
      CLIENT_ADDRESS_HEADER: "x-client-address",
    },
  });
  running.push(gateway);
  await firstLine(gateway);
  const checkers = await startScript("./bill-checkers.ts", [], { ipc: true });
  running.push(checkers);
  await firstLine(checkers);
  const [customer, ...users] = owners;
  const order = { url: `http://127.0.0.1:${port}`, sessions: users.map(({ session }) => session) };
  const rounds: { alone: Round; beside: Round }[] = [];
  // The first round compiles.
  for (let round = 0; round <= Number(values.rounds); round += 1) {
    const alone = await runRound(order.url, customer?.key ?? "", gateway, null);
    const beside = await runRound(order.url, customer?.key ?? "", gateway, { checkers, order });
    if (round > 0) rounds.push({ alone, beside });
    process.stderr.write(
      `round ${round}: p99 ${p(alone, 99)} and ${p(beside, 99)} ms, ${beside.report.checks} checks\n`,
    );
  }
  report(rounds);
}

/** Makes the accounts of a customer and the users, each with the same number of final statements and uses. */
async function makeBooks(file: string, secret: Uint8Array) {
  const chain = await startPrimaryChain();
  running.push(chain);
  const snapshot = "0123456789abcdef0123456789abcdef";
  const detail = JSON.stringify({ route: "chat", model: floodModel, stream: false, snapshot, bytes: 900 });
  const keccak = await makeKeccak();
  const books = await openSettledBooks({ chain, file, secret, accounts: USERS + 1, keccak, snapshot, detail });
  for (let statement = 0; statement < STATEMENTS; statement += 1) {
    await books.serve((USERS + 1) * Math.ceil(USES / STATEMENTS));
    await books.seal();
    await books.post();
  }
  await books.close();
  process.stderr.write(`${USERS} users have ${STATEMENTS} final statements of chain ${CHAIN_ID}\n`);
  return { ...chain, owners: books.owners };
}

/** The customer asks at a steady rate, alone or beside the users. */
async function runRound(
  url: string,
  key: string,
  gateway: Started,
  beside: { checkers: Started; order: CheckersOrder } | null,
): Promise<Round> {
  if (beside !== null) await tell(beside.checkers, beside.order);
  await askEach(url, key, WARMUP_MS);
  await tell(gateway, {});
  const before = (await cpuMs([gateway.pid])) ?? Number.NaN;
  const waited = await askEach(url, key, FOR_MS);
  const took = ((await cpuMs([gateway.pid])) ?? Number.NaN) - before;
  const { longestTurnMs: turnMs } = (await tell(gateway, {})) as { longestTurnMs: number };
  const report =
    beside === null ? { answers: {}, checks: 0 } : ((await tell(beside.checkers, "stop")) as CheckersReport);
  return { ...waited, turnMs, cpuMs: took, report };
}

async function askEach(url: string, key: string, forMs: number): Promise<Waited> {
  const asked: Promise<number | null>[] = [];
  const until = performance.now() + forMs;
  for (let due = performance.now(); due < until; due += EACH_MS) {
    await sleep(Math.max(0, due - performance.now()));
    asked.push(askChat(url, key));
  }
  const waitedMs = (await Promise.all(asked)).filter((ms) => ms !== null);
  return { waitedMs, refused: asked.length - waitedMs.length };
}

/** Milliseconds until the whole answer; null if the customer is not served. */
function askChat(url: string, key: string): Promise<number | null> {
  const body = JSON.stringify({
    model: floodModel,
    max_tokens: 1_000,
    messages: [{ role: "user", content: "Hello." }],
  });
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    "x-client-address": "10.1.0.0",
  };
  const from = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/v1/chat/completions`, { method: "POST", agent, headers }, (response) => {
      response.resume().once("end", () => {
        resolve(response.statusCode === 200 ? performance.now() - from : null);
      });
    });
    sent.once("error", reject).end(body);
  });
}

async function tell({ child }: Started, message: object | string): Promise<unknown> {
  const answer = once(child, "message");
  child.send(message);
  const [told] = await answer;
  return told;
}

function report(rounds: readonly { alone: Round; beside: Round }[]): void {
  const rows = (["alone", "beside"] as const).map((kind) => {
    const each = rounds.map((round) => round[kind]);
    const all = { waitedMs: each.flatMap(({ waitedMs }) => waitedMs) };
    const refused = each.reduce((sum, round) => sum + round.refused, 0);
    const answers = each.reduce((sum, { report }) => sum + (report.answers[200] ?? 0), 0);
    const checks = each.reduce((sum, { report }) => sum + report.checks, 0);
    const cpu = each.reduce((sum, round) => sum + round.cpuMs, 0) / (rounds.length * FOR_MS);
    const turn = Math.max(...each.map(({ turnMs }) => turnMs));
    return [
      kind,
      p(all, 50),
      p(all, 99),
      String(refused),
      turn.toFixed(0),
      cpu.toFixed(2),
      String(answers),
      String(checks),
    ];
  });
  const head = [
    "customer",
    "p50, ms",
    "p99, ms",
    "not served",
    "longest turn, CPU ms",
    "cores",
    "free answers",
    "whole checks",
  ];
  const ratio = median(rounds.map(({ alone, beside }) => Number(p(beside, 99)) / Number(p(alone, 99))));
  const others = rounds.flatMap(({ beside }) =>
    Object.entries(beside.report.answers).filter(([code]) => code !== "200"),
  );
  const isServed = rounds.every(({ alone, beside }) => alone.refused + beside.refused === 0);
  process.stdout.write(`${table(head, rows)}\n\n`);
  process.stdout.write(`${USERS} users, ${USES} uses each, ${rounds.length} rounds of ${values.seconds} s. `);
  process.stdout.write(`Other answers: ${JSON.stringify(others)}.\n`);
  const verdict = ratio <= budgets.p99Ratio ? "within" : "above";
  process.stdout.write(`p99 beside / alone, median of rounds: ${ratio.toFixed(2)}, ${verdict} ${budgets.p99Ratio}.\n`);
  if (ratio > budgets.p99Ratio || !isServed) process.exitCode = 1;
}

function p({ waitedMs }: Pick<Waited, "waitedMs">, percent: number): string {
  return percentile(
    waitedMs.toSorted((one, other) => one - other),
    percent,
  ).toFixed(1);
}
