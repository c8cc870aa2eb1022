import { createInterface } from "node:readline";
import { bufferedCheck, streamCheck } from "./answer-check.ts";
import { type Connection, openConnection } from "./connection.ts";
import type { LoadPlan, LoadResult } from "./load-plan.ts";
import { percentile, samples } from "./percentile.ts";

// The load generator, a process of its own: a LoadPlan a line on standard input, a LoadResult a line on standard
// output. Closed loop, and each plan is bounded by time. It ends with its input.

const drainSeconds = 30;

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
  let bytes = 0;

  const connections = Array.from(
    { length: plan.connections },
    (_, index): Connection =>
      openConnection({
        host: target.hostname.replace(/[[\]]/g, ""),
        port: Number(target.port),
        request: requestBytes(target, plan.headers[index % plan.headers.length] ?? {}, plan.body),
        check:
          plan.events === null
            ? bufferedCheck()
            : streamCheck(
                plan.events,
                (more) => {
                  allEvents += more;
                  if (counting(performance.now())) events += more;
                },
                plan.ending,
              ),
        running: () => performance.now() < end,
        answered(startedMs, firstByteMs) {
          allAnswers += 1;
          const now = performance.now();
          if (!counting(now)) return;
          latencies.add(now - startedMs);
          firstBytes.add(firstByteMs - startedMs);
        },
        failed(reason) {
          errorKinds[reason] = (errorKinds[reason] ?? 0) + 1;
        },
        received(more) {
          if (counting(performance.now())) bytes += more;
        },
      }),
  );

  const giveUp = setTimeout(() => abandonAll(), end - performance.now() + drainSeconds * 1000);
  let unfinished = 0;
  function abandonAll(): void {
    for (const connection of connections) if (connection.abandon()) unfinished += 1;
  }
  await Promise.all(connections.map((connection) => connection.ended));
  clearTimeout(giveUp);

  const sorted = latencies.sorted();
  const sortedFirst = firstBytes.sorted();
  return {
    answers: sorted.length,
    requestsPerSecond: sorted.length / plan.seconds,
    eventsPerSecond: events / plan.seconds,
    bytes,
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

function requestBytes(target: URL, headers: Readonly<Record<string, string>>, body: string): Buffer {
  const lines = Object.entries({
    host: target.host,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${target.pathname} HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
}

if (import.meta.main) {
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await runLoad(JSON.parse(line) as LoadPlan))}\n`);
  }
}
