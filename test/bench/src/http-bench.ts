import { cpuMs } from "./cpu.ts";
import { type Answer, type LoadPlan, type LoadResult, paceMs, requestBody, streamEvents } from "./load-plan.ts";
import { firstLine, lineReader, type Started, startScript } from "./process.ts";
import type { RunningTarget, Target } from "./target.ts";

export interface Scenario {
  readonly name: string;
  readonly connections: number;
  readonly answer: Answer;
  /** Whether the prompt has 20 kB. */
  readonly isLong?: boolean;
}

export const scenarios: readonly Scenario[] = [
  { name: "buffered, 1 connection", connections: 1, answer: "buffered" },
  { name: "buffered, 32 connections", connections: 32, answer: "buffered" },
  { name: "buffered, 256 connections", connections: 256, answer: "buffered" },
  { name: "buffered, 256 connections, a prompt of 20 kB", connections: 256, answer: "buffered", isLong: true },
  { name: "streaming, 1 stream of 200 events", connections: 1, answer: "flood" },
  { name: "streaming, 200 streams of 200 events", connections: 200, answer: "flood" },
  { name: `streaming, an event every ${paceMs} ms`, connections: 200, answer: "paced" },
];

/** One target under one scenario in one round. */
export interface HttpReading {
  readonly scenario: string;
  readonly target: string;
  readonly round: number;
  readonly load: LoadResult;
  /** The scenario's figure: whole answers a second, or events a second. */
  readonly rate: number;
  /** The target's processor time for an answer, or for an event. Null where there is no /proc, and no process. */
  readonly cpuUs: number | null;
  /** Processors the target kept busy: at about 1 a single thread is the limit, below it something else is. */
  readonly targetCores: number | null;
  readonly upstreamCores: number | null;
}

export interface HttpBenchOptions {
  readonly targets: readonly Target[];
  readonly scenarios: readonly Scenario[];
  readonly rounds: number;
  readonly warmupSeconds: number;
  readonly seconds: number;
  say(line: string): void;
}

/** All targets stay up. Each round loads them one at a time and begins with another one. */
export async function httpBench(options: HttpBenchOptions): Promise<HttpReading[]> {
  const upstream = await startScript("./fixed-upstream.ts", []);
  // All targets share one generator, so that none is measured while it is compiled.
  const generator = await startScript("./load.ts", [], { openStdin: true });
  const nextResult = lineReader(generator);
  const load = async (plan: LoadPlan): Promise<LoadResult> => {
    generator.child.stdin?.write(`${JSON.stringify(plan)}\n`);
    return JSON.parse(await nextResult()) as LoadResult;
  };
  const running: [Target, RunningTarget][] = [];
  try {
    const origin = await firstLine(upstream);
    for (const target of options.targets) {
      // A target that cannot start is reported and left out.
      await target.start(origin).then(
        (server) => running.push([target, server]),
        (error: unknown) => options.say(`left out: ${target.name} did not start: ${String(error)}`),
      );
    }
    const readings: HttpReading[] = [];
    for (let round = 0; round < options.rounds; round += 1) {
      for (const scenario of options.scenarios.filter((one) => isDue(one, round))) {
        for (let turn = 0; turn < running.length; turn += 1) {
          const entry = running[(round + turn) % running.length];
          if (entry === undefined) continue;
          const [target, server] = entry;
          const reading = await measure({ ...options, scenario, target, server, upstream, round, load });
          readings.push(reading);
          options.say(progress(reading));
        }
      }
    }
    return readings;
  } finally {
    for (const [, server] of running) await server.stop();
    await generator.stop();
    await upstream.stop();
  }
}

/** A paced stream takes four seconds with any target, so every third round measures them. */
function isDue({ answer }: Scenario, round: number): boolean {
  return answer !== "paced" || round % 3 === 0;
}

interface Measurement extends Pick<HttpBenchOptions, "warmupSeconds" | "seconds"> {
  readonly scenario: Scenario;
  readonly target: Target;
  readonly server: RunningTarget;
  readonly upstream: Started;
  readonly round: number;
  load(plan: LoadPlan): Promise<LoadResult>;
}

async function measure(options: Measurement): Promise<HttpReading> {
  const { scenario, server, upstream } = options;
  const plan: LoadPlan = {
    url: `${server.origin}${server.path}`,
    headers: server.headers,
    body: requestBody(scenario.answer, scenario.isLong),
    connections: scenario.connections,
    warmupSeconds: options.warmupSeconds,
    // In a shorter window no paced stream would end.
    seconds: scenario.answer === "paced" ? Math.max(5, options.seconds) : options.seconds,
    events: scenario.answer === "buffered" ? null : streamEvents,
  };
  const hasProcess = server.pids.length > 0;
  const targetBefore = await cpuMs(server.pids);
  const upstreamBefore = await cpuMs([upstream.pid]);
  const load = await options.load(plan);
  const targetMs = hasProcess ? difference(await cpuMs(server.pids), targetBefore) : null;
  const upstreamMs = difference(await cpuMs([upstream.pid]), upstreamBefore);
  const buffered = scenario.answer === "buffered";
  const units = buffered ? load.allAnswers : load.allEvents;
  return {
    scenario: scenario.name,
    target: options.target.name,
    round: options.round,
    load,
    rate: buffered ? load.requestsPerSecond : load.eventsPerSecond,
    cpuUs: targetMs === null || units === 0 ? null : (targetMs * 1000) / units,
    targetCores: targetMs === null ? null : targetMs / 1000 / load.elapsedSeconds,
    upstreamCores: upstreamMs === null ? null : upstreamMs / 1000 / load.elapsedSeconds,
  };
}

function difference(after: number | undefined, before: number | undefined): number | null {
  return after === undefined || before === undefined ? null : after - before;
}

function progress({ scenario, target, round, rate, load }: HttpReading): string {
  const wrong = load.errors + load.unfinished === 0 ? "" : `  ${load.errors} errors, ${load.unfinished} unfinished`;
  return `round ${round + 1}  ${scenario}  ${target}  ${Math.round(rate)}/s${wrong}`;
}
