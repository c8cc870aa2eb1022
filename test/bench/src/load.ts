import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, type Dispatcher } from "undici";
import { type AnswerCheck, bufferedCheck, streamCheck } from "./answer-check.ts";
import type { LoadPlan, LoadResult } from "./load-plan.ts";
import { percentile, samples } from "./percentile.ts";

// The load generator, a process of its own. It reads a LoadPlan a line from standard input and writes a LoadResult a
// line to standard output. Each plan is bounded by time. The process ends with its input.

const drainSeconds = 30;
/** The pause after a failure: a refusal costs the server little, so refusals would displace answers. */
const pauseMs = 20;

export async function runLoad(plan: LoadPlan): Promise<LoadResult> {
  const target = new URL(plan.url);
  if (!["127.0.0.1", "localhost", "[::1]"].includes(target.hostname)) throw new Error("only loopback may be loaded");
  if (plan.headers.length === 0) throw new Error("a plan needs at least one set of headers");

  const started = performance.now();
  const begin = started + plan.warmupSeconds * 1000;
  const end = begin + plan.seconds * 1000;
  const counting = (now: number) => now >= begin && now < end;
  const latencies = samples();
  const firstBytes = samples();
  const errorKinds: Record<string, number> = {};
  let events = 0;
  let allEvents = 0;
  let allAnswers = 0;

  const onEvents = (more: number): void => {
    allEvents += more;
    if (counting(performance.now())) events += more;
  };
  /** A closed-loop client on one kept-alive connection: it sends, reads the whole answer, and sends again. */
  const open = (index: number): Client => {
    const client = new Client(target.origin, { pipelining: 1 });
    const check = plan.events === null ? bufferedCheck() : streamCheck(plan.events, onEvents);
    const headers = { "content-type": "application/json", ...plan.headers[index % plan.headers.length] };
    const request = { path: target.pathname, method: "POST", headers, body: plan.body } as const;
    const run = async (): Promise<void> => {
      while (performance.now() < end && !client.destroyed) {
        const startedMs = performance.now();
        const { wrong, firstByteMs, isUnfinished } = await ask(client, request, check);
        const now = performance.now();
        if (isUnfinished) unfinished += 1;
        else if (wrong !== undefined) {
          errorKinds[wrong] = (errorKinds[wrong] ?? 0) + 1;
          await sleep(pauseMs);
        } else {
          allAnswers += 1;
          if (!counting(now)) continue;
          latencies.add(now - startedMs);
          firstBytes.add(firstByteMs - startedMs);
        }
      }
    };
    running.push(run());
    return client;
  };
  let unfinished = 0;
  const running: Promise<void>[] = [];
  const clients = Array.from({ length: plan.connections }, (_, index) => open(index));
  const giveUp = setTimeout(() => destroyAll(clients), end - performance.now() + drainSeconds * 1000);
  await Promise.all(running);
  clearTimeout(giveUp);
  await destroyAll(clients);

  const sorted = latencies.sorted();
  const sortedFirst = firstBytes.sorted();
  return {
    answers: sorted.length,
    requestsPerSecond: sorted.length / plan.seconds,
    eventsPerSecond: events / plan.seconds,
    p50Ms: figure(sorted, 50),
    p99Ms: figure(sorted, 99),
    firstByteP50Ms: figure(sortedFirst, 50),
    firstByteP99Ms: figure(sortedFirst, 99),
    allAnswers,
    allEvents,
    elapsedSeconds: (performance.now() - started) / 1000,
    errors: Object.values(errorKinds).reduce((sum, count) => sum + count, 0),
    errorKinds,
    unfinished,
  };
}

function figure(ascending: Float64Array, percent: number): number | null {
  return ascending.length === 0 ? null : percentile(ascending, percent);
}

async function destroyAll(clients: readonly Client[]): Promise<void> {
  await Promise.all(clients.map((client) => client.destroy()));
}

type Asked = { wrong: string | undefined; firstByteMs: number; isUnfinished: boolean };

/** `wrong` says why the answer was not a whole one. An answer is unfinished if its client was destroyed. */
function ask(client: Client, request: Dispatcher.DispatchOptions, check: AnswerCheck): Promise<Asked> {
  return new Promise((resolve) => {
    let status = 0;
    let firstByteMs = 0;
    client.dispatch(request, {
      // undici requires this method.
      onRequestStart() {},
      onResponseStart(_controller, code) {
        status = code;
      },
      onResponseData(_controller, bytes) {
        if (firstByteMs === 0) firstByteMs = performance.now();
        check.take(bytes);
      },
      onResponseEnd() {
        resolve({ wrong: check.finish(status), firstByteMs, isUnfinished: false });
      },
      onResponseError(_controller, error) {
        check.finish(0);
        resolve({ wrong: error.message, firstByteMs, isUnfinished: client.destroyed });
      },
    });
  });
}

if (import.meta.main) {
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await runLoad(JSON.parse(line) as LoadPlan))}\n`);
  }
}
