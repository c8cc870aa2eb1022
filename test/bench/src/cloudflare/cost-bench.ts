import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { cpuMs } from "../cpu.ts";
import { gatewaySettings } from "../gateway-settings.ts";
import { type Answer, requestBody } from "../load-plan.ts";
import { firstLine, startScript } from "../process.ts";
import { realDirectory } from "../real-directory.ts";
import { completions } from "../targets.ts";
import { type CeilingRate, measureCeiling } from "./ceiling-rate.ts";
import { type Counts, sumOf } from "./counts.ts";
import { writeEdgeBooks } from "./edge-books.ts";
import { objectGb, type Usage, usdOfMillion } from "./prices.ts";
import { withWorker } from "./with-worker.ts";

/** The use of requests of one kind, and the price of a million of them. */
export interface CostReading {
  readonly scenario: string;
  readonly requests: number;
  /** Half an hour passes between two of them. */
  readonly rounds: number;
  readonly perRequest: Usage;
  readonly usdPerMillionRequests: number;
  /** By the kind of object and what was called, for a request. */
  readonly objectRequests: Readonly<Record<string, number>>;
  /** By table, for a request. */
  readonly rowsWritten: Readonly<Record<string, number>>;
}

interface CostScenario {
  readonly name: string;
  /** Begins with accounts that never made a request. */
  readonly first?: true;
  readonly accounts: number;
  readonly requests: number;
  readonly clients: number;
  readonly answer: Answer;
  /** Between the requests of one client. */
  readonly pauseMs: number;
  /** Each request has an `Idempotency-Key`. */
  readonly isKeyed?: true;
  /** How often all of it is done. */
  readonly rounds: number;
  /** Passes after the requests of a round: the accounts' alarms ring. */
  readonly afterMs: number;
}

const HALF_AN_HOUR = 30 * 60_000;

/** Each account is an object of its own. One that rests asks for seven hours, so that rare alarms ring too. */
function costScenarios(size: number): readonly CostScenario[] {
  const usual = { answer: "buffered", clients: 1, pauseMs: 0, accounts: size, requests: size, ...once } as const;
  const rested = { ...usual, rounds: 14, afterMs: HALF_AN_HOUR } as const;
  const long = { answer: "long", clients: 32 } as const;
  return [
    { ...usual, name: "an account's first", first: true, afterMs: HALF_AN_HOUR },
    { ...rested, name: "once in half an hour" },
    { ...usual, name: "one at a time", accounts: 1, requests: size / 2, pauseMs: 50 },
    // Enough requests to fold the log several times.
    { ...usual, name: "32 at once", clients: 32, accounts: 1, requests: 2 * size },
    { ...rested, ...long, name: "streams of 500 tokens, once in half an hour" },
    { ...usual, ...long, name: "streams of 500 tokens, 32 at once", accounts: 1, requests: Math.max(64, size / 2) },
    { ...rested, name: "with an Idempotency-Key, once in half an hour", isKeyed: true },
  ];
}

const once = { rounds: 1, afterMs: 0 } as const;
const firstOfTheDay = { requests: 1, accounts: 1, clients: 1, answer: "buffered", pauseMs: 0, ...once } as const;

export interface CostBenchOptions {
  /** The accounts there are. */
  readonly size: number;
  say(line: string): void;
}

/** The gateway's own Worker and objects, counted while they serve. */
export async function costBench({ size, say }: CostBenchOptions): Promise<{
  readings: CostReading[];
  ceiling: CeilingRate;
}> {
  const upstream = await startScript("./fixed-upstream.ts", []);
  const folder = await realDirectory("edge-cost-");
  try {
    const secret = randomBytes(32);
    const settings = await gatewaySettings(await firstLine(upstream), secret);
    const options = { folder, settings, entry: new URL("counting-worker.ts", import.meta.url) };
    const keys = await withWorker(options, async ({ url }) => {
      const written = await writeEdgeBooks(`${url}/__books`, secret, size);
      // The day's counters are made by its first request, which is nobody's.
      await askAll(firstOfTheDay, { url, keys: written });
      await quiet(url);
      return written;
    });
    const readings = await withWorker(options, async ({ url, pid }) => {
      const read: CostReading[] = [];
      for (const scenario of costScenarios(size)) {
        const reading = await count(scenario, { url, pids: pid === undefined ? [] : [pid], keys });
        say(`cost  ${scenario.name}  $${reading.usdPerMillionRequests.toFixed(2)} a million requests`);
        read.push(reading);
      }
      return read;
    });
    return { readings, ceiling: await measureCeiling({ folder, settings }) };
  } finally {
    await upstream.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Served {
  readonly url: string;
  readonly keys: readonly string[];
}

async function count(
  scenario: CostScenario,
  { url, keys, pids }: Served & { readonly pids: readonly number[] },
): Promise<CostReading> {
  const requests = scenario.requests * scenario.rounds;
  await quiet(url);
  await fetch(`${url}/__counts`, { method: "DELETE" });
  let cpu = 0;
  for (let round = 0; round < scenario.rounds; round += 1) {
    const cpuBefore = (await cpuMs(pids)) ?? Number.NaN;
    await askAll(scenario, { url, keys }, round);
    await quiet(url);
    // What the alarms of many accounts need of the processor is not the Worker's.
    cpu += ((await cpuMs(pids)) ?? Number.NaN) - cpuBefore;
    await fetch(`${url}/__pass`, { method: "POST", body: String(scenario.afterMs) });
  }
  const counts = await quiet(url);
  const perRequest: Usage = {
    workerRequests: counts.workerRequests / requests,
    cpuMs: cpu / requests,
    objectRequests: sumOf(counts.objectRequests) / requests,
    objectGbSeconds: (sumOf(counts.activeMs) / 1_000 / requests) * objectGb,
    rowsRead: sumOf(counts.rowsRead) / requests,
    rowsWritten: sumOf(counts.rowsWritten) / requests,
    keyValueReads: counts.keyValueReads / requests,
    keyValueWrites: counts.keyValueWrites / requests,
  };
  return {
    scenario: scenario.name,
    requests,
    rounds: scenario.rounds,
    perRequest,
    usdPerMillionRequests: usdOfMillion(perRequest),
    objectRequests: divided(counts.objectRequests, requests),
    rowsWritten: divided(counts.rowsWritten, requests),
  };
}

/** Every answer is looked at: a refused request would be a cheap one. */
async function askAll(
  { requests, accounts, clients, answer, pauseMs, isKeyed }: Omit<CostScenario, "name" | "first">,
  { url, keys }: Served,
  round = 0,
): Promise<void> {
  let next = 0;
  async function client(): Promise<void> {
    for (let request = next++; request < requests; request = next++) {
      const keyed = isKeyed ? { "idempotency-key": `request ${request} of ${round}` } : {};
      const response = await fetch(url + completions, {
        method: "POST",
        headers: { authorization: `Bearer ${keys[request % accounts]}`, "content-type": "application/json", ...keyed },
        body: requestBody(answer),
      });
      const text = await response.text();
      const isWhole = answer === "buffered" ? text.includes('"usage"') : text.endsWith("data: [DONE]\n\n");
      if (response.status !== 200 || !isWhole) throw new Error(`answered ${response.status}: ${text.slice(0, 200)}`);
      if (pauseMs > 0) await sleep(pauseMs);
    }
  }
  await Promise.all(Array.from({ length: clients }, client));
}

/** The counts, once what goes on after the answers has been done. */
async function quiet(url: string): Promise<Counts> {
  let last = "";
  for (let tries = 0; tries < MOST_LOOKS; tries += 1) {
    const text = await (await fetch(`${url}/__counts`)).text();
    if (text === last) return JSON.parse(text) as Counts;
    last = text;
    await sleep(LOOK_AGAIN_MS);
  }
  throw new Error("the objects do not come to rest");
}

const LOOK_AGAIN_MS = 500;
const MOST_LOOKS = 120;

function divided(counts: Readonly<Record<string, number>>, by: number): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([name, value]) => [name, value / by]));
}
