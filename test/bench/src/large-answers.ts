import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { request } from "node:http";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "@inference/contracts/free-port";
import { openBooks } from "./books.ts";
import { cpuMs } from "./cpu.ts";
import { gatewaySettings } from "./gateway-settings.ts";
import { median } from "./percentile.ts";
import { firstLine, lineReader, type Started, start, startScript } from "./process.ts";
import { realDirectory } from "./real-directory.ts";
import { table } from "./table.ts";

// Measures large whole answers: the processor time of one answer of embeddings, compared with a proxy that copies it,
// and beside many answers the gateway's longest turn of its event loop and the longest wait of /healthz, in the
// gateway's own processor time. Gateways of several checkouts are up at once and take turns.
//
//     node test/bench/src/large-answers.ts [--rounds 5] [folder ...]

const budgets = { cpuToBare: 2, turnMs: 100, waitMs: 100 };
const single = "embeddings 60";
const besides = [
  { name: "12 x 1,500 embeddings of 3,072 numbers", asked: "embeddings 92", atOnce: 12 },
  { name: "50 MB of log probabilities", asked: "logprobs 50", atOnce: 1 },
];

type Longest = { turnMs: number; waitMs: number };

type Target = {
  name: string;
  origin: string;
  pid: number;
  key: string;
  /** Measures while the work runs; null for a proxy. */
  longest: ((work: () => Promise<unknown>) => Promise<Longest>) | null;
  stop(): Promise<void>;
};

const { values, positionals } = parseArgs({
  options: { rounds: { type: "string", default: "5" } },
  allowPositionals: true,
});
const folders = positionals.length > 0 ? positionals : [new URL("../../..", import.meta.url).pathname];
const answers = [single, ...besides.map(({ asked }) => asked)];
const provider = await startScript("./large-answers-provider.ts", answers, { openStdin: true });
const said = lineReader(provider);
const upstream = await said();
const targets = [await startBare(), ...(await Promise.all(folders.map(startGateway)))];
try {
  const rows = await measure(Number(values.rounds));
  const head = ["", "CPU ms", "CPU / bare", ...besides.flatMap(({ name }) => [`${name}: turn, ms`, "wait, ms"])];
  process.stdout.write(`${table(head, rows)}\n`);
} finally {
  await Promise.all([provider, ...targets].map((started) => started.stop()));
}

async function measure(rounds: number): Promise<string[][]> {
  const cpu = targets.map((): number[] => []);
  const ratios = targets.map((): number[] => []);
  const longest = targets.map(() => besides.map((): Longest[] => []));
  // The first round compiles.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, target] of targets.entries()) {
      await say(single);
      const before = (await cpuMs([target.pid])) ?? Number.NaN;
      await ask(target, single);
      const took = ((await cpuMs([target.pid])) ?? Number.NaN) - before;
      if (round === 0) continue;
      cpu[index]?.push(took);
      ratios[index]?.push(took / (cpu[0]?.at(-1) ?? Number.NaN));
      for (const [kind, { asked, atOnce }] of besides.entries()) {
        if (target.longest === null) continue;
        await say(asked);
        const work = () => Promise.all(Array.from({ length: atOnce }, () => ask(target, asked)));
        longest[index]?.[kind]?.push(await target.longest(work));
      }
      process.stderr.write(`round ${round}, ${target.name}: ${took} ms\n`);
    }
  }
  return targets.map(({ name, longest: isMeasured }, index) => [
    name,
    median(cpu[index] ?? []).toFixed(0),
    within(median(ratios[index] ?? []), budgets.cpuToBare, 2),
    ...(longest[index] ?? []).flatMap((each) => {
      if (isMeasured === null) return ["", ""];
      const turnMs = median(each.map((measured) => measured.turnMs));
      const waitMs = median(each.map((measured) => measured.waitMs));
      return [within(turnMs, budgets.turnMs, 0), within(waitMs, budgets.waitMs, 0)];
    }),
  ]);
}

function within(value: number, most: number, digits: number): string {
  return `${value.toFixed(digits)}${value > most ? ` (above ${most})` : ""}`;
}

async function say(asked: string): Promise<void> {
  provider.child.stdin?.write(`${asked}\n`);
  await said();
}

/** Reads a whole answer. Throws if it is not one. */
function ask({ origin, key }: Target, asked: string): Promise<void> {
  const isChat = asked.startsWith("logprobs");
  const path = isChat ? "/api/v1/chat/completions" : "/api/v1/embeddings";
  const messages = [{ role: "user", content: asked }];
  const body = isChat ? { model: "sim-small", max_tokens: 10, messages } : { model: "sim-embedding", input: asked };
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return new Promise((done, failed) => {
    const sent = request(`${origin}${path}`, { method: "POST", headers }, (response) => {
      let bytes = 0;
      let end = "";
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        end = chunk.subarray(-1).toString();
      });
      response.once("error", failed).once("end", () => {
        const isWhole = response.statusCode === 200 && end === "}" && bytes > Number(asked.split(" ")[1]) * 1_000_000;
        if (isWhole) done();
        else failed(new Error(`${origin} answered ${response.statusCode} with ${bytes} bytes`));
      });
    });
    sent.once("error", failed).end(JSON.stringify(body));
  });
}

async function startBare(): Promise<Target> {
  const proxy = await startScript("./bare-proxy.ts", [upstream]);
  return {
    name: "bare proxy",
    origin: await firstLine(proxy),
    pid: proxy.pid,
    key: "",
    longest: null,
    stop: proxy.stop,
  };
}

async function startGateway(folder: string): Promise<Target> {
  const directory = await realDirectory("gateway-");
  const file = join(directory, "gateway.sqlite");
  const secret = randomBytes(32);
  const books = await openBooks({ file, secret, accounts: 1, pastUses: 0 });
  await books.close();
  const port = await freePort();
  const script = resolve(folder, "hosts/node/src/testing/neighbours/measured-gateway.ts");
  const server = await start(process.execPath, [script], {
    ipc: true,
    env: {
      ...(await gatewaySettings(upstream, secret)),
      HOST: "127.0.0.1",
      PORT: String(port),
      BASE_URL: `http://127.0.0.1:${port}`,
      DATABASE_FILE: file,
    },
  });
  await firstLine(server);
  const origin = `http://127.0.0.1:${port}`;
  const probe = await startScript("./healthz-waits.ts", [origin, String(server.pid)], { openStdin: true });
  const stop = async () => {
    await Promise.all([probe.stop(), server.stop()]);
    await rm(directory, { recursive: true, force: true });
  };
  return { name: folder, origin, pid: server.pid, key: books.keys[0] ?? "", longest: longestOf(server, probe), stop };
}

function longestOf(server: Started, probe: Started): NonNullable<Target["longest"]> {
  const nextWait = lineReader(probe);
  async function turnMs(): Promise<number> {
    const measured = once(server.child, "message") as Promise<[{ longestTurnMs: number }]>;
    server.child.send({});
    const [{ longestTurnMs }] = await measured;
    return longestTurnMs;
  }
  return async (work) => {
    await turnMs();
    probe.child.stdin?.write("\n");
    await work();
    probe.child.stdin?.write("\n");
    return { turnMs: await turnMs(), waitMs: Number(await nextWait()) };
  };
}
