import { gzipSync } from "node:zlib";
import { type ChatJob, costField, overloadedJson, reportedUsage, toolCallStart } from "./chat-plan.ts";
import { cut, providerHeaders, sleep, write } from "./exchange.ts";
import { FAULTS } from "./faults.ts";
import { bill, billAborted, MAX_HANG_MS } from "./job.ts";
import { createFramer, split } from "./stream-shape.ts";
import { tokenAt } from "./tokens.ts";

/** Writes events in the job's shape. A method answers false once the client is gone. */
interface EventWriter {
  event(data: string): boolean | Promise<boolean>;
  raw(text: string): boolean | Promise<boolean>;
  end(): Promise<void>;
}

/** One event for each token, a usage chunk with no choices, then [DONE]. */
export async function streamChat(job: ChatJob): Promise<void> {
  const { x, shape } = job;
  const headers = providerHeaders(x, "text/event-stream; charset=utf-8", job.model);
  headers.push("cache-control", "no-cache", ...(shape.gzip ? ["content-encoding", "gzip"] : []));
  x.record.status = 200;
  x.response.writeHead(200, headers);
  x.response.flushHeaders();
  const out = createEventWriter(job);

  const sent = await sendTokens(job, out);
  const isLeft = x.gone || (shape.ending === "stall" && !(await sleep(x, MAX_HANG_MS)));
  if (isLeft) billAborted(job, sent);
  else await sendEnding(job, out, sent);
}

async function sendTokens(job: ChatJob, out: EventWriter): Promise<number> {
  const { x, shape, request } = job;
  const halfway = Math.ceil(job.perChoice / 2);
  const ends = { all: job.perChoice, half: halfway, none: 0, endless: Number.POSITIVE_INFINITY };
  const end = shape.resumeAfterError ? job.perChoice : ends[shape.tokens];
  const gap = shape.slow && shape.pieces === "event" ? x.sim.settings.slowDripMs : job.dripMs;

  for (let choice = 0; choice < request.n && shape.tokens !== "none"; choice++) {
    const isCall = job.finish === "tool_calls" && job.scripted === null;
    const start = isCall ? toolStartDelta(job, choice) : '{"role":"assistant","content":""}';
    if (!(await out.event(chunk(job, choice, start, null)))) return x.record.unitsSent;
  }
  for (let index = 0; index < end; index++) {
    if (gap > 0 && !(await sleep(x, gap))) break;
    // Without a pause an endless answer would never let the event loop see that the client left.
    if (shape.tokens === "endless" && index % 64 === 63 && !(await sleep(x, 1))) break;
    if (index === halfway && shape.resumeAfterError) await out.event(overloadedJson());
    if (index === halfway && shape.bigEvent) await out.event(bigEvent(job));
    for (let choice = 0; choice < request.n; choice++) {
      const written = out.event(chunk(job, choice, tokenDelta(job, choice, index), null));
      if (!(written === true || (await written))) return x.record.unitsSent;
      x.record.unitsSent += 1;
    }
  }
  return x.record.unitsSent;
}

async function sendEnding(job: ChatJob, out: EventWriter, sent: number): Promise<void> {
  const { x, shape } = job;
  const complete = sent === job.units && shape.tokens !== "none";
  // An error may come after all of the work, with its bill.
  const billed = bill(job, shape.tokens === "none" && shape.usage === "once" ? job.units : sent);
  if (complete) await sendFinish(job, out);
  if (shape.garbage) await out.raw('data: {"id":"broken","choices":[{"delta":{"content":"x"}}]}garbage}\n\n');
  if (shape.errorEvent && !shape.resumeAfterError) await out.event(overloadedJson());
  if (shape.usage === "once") {
    const earlier = earlierUsage(job);
    if (earlier !== null) await out.event(usageChunk(job, earlier, ""));
    await out.event(usageChunk(job, reportedUsage(job), costField(billed)));
  }
  if (shape.ending.startsWith("done")) await out.event("[DONE]");
  if (shape.ending === "done-twice") await out.event("[DONE]");
  if (shape.ending === "done-and-more") await out.event(chunk(job, 0, '{"content":"after the end"}', null));
  if (shape.ending === "rst" || shape.ending === "fin" || shape.ending === "stall") {
    // A reset would throw away bytes that have not left yet.
    await sleep(x, 20);
    cut(x, shape.ending === "fin" ? "fin" : "rst");
    return;
  }
  await out.end();
}

async function sendFinish(job: ChatJob, out: EventWriter): Promise<void> {
  for (let choice = 0; choice < job.request.n; choice++) {
    const isCall = job.finish === "tool_calls" && job.scripted === null;
    await out.event(chunk(job, choice, isCall ? toolEndDelta() : "{}", job.finish));
  }
}

function head(job: ChatJob): string {
  return `{"id":"${job.requestId}","object":"chat.completion.chunk","created":${job.createdSeconds},"model":"${job.model.id}","choices":[`;
}

function chunk(job: ChatJob, choice: number, delta: string, finish: string | null): string {
  const reason = finish === null ? "null" : `"${finish}"`;
  const usage = job.fault === "usage-null-everywhere" ? ',"usage":null' : "";
  return `${head(job)}{"index":${choice},"delta":${delta},"finish_reason":${reason},"logprobs":null}]${usage}}`;
}

function usageChunk(job: ChatJob, usage: string, cost: string): string {
  return `${head(job)}],"usage":${usage}${cost}}`;
}

/** The usage of the chunk before the last; null if only one chunk has usage. */
function earlierUsage(job: ChatJob): string | null {
  if (job.fault === "usage-mends") return FAULTS["usage-text"]?.usage?.(job.usage(job.units)) ?? null;
  if (job.fault !== "usage-repeated" && job.fault !== "usage-worsens") return null;
  const { promptTokens } = job.request;
  return `{"prompt_tokens":${promptTokens},"completion_tokens":1,"total_tokens":${promptTokens + 1}}`;
}

function tokenDelta(job: ChatJob, choice: number, index: number): string {
  if (job.scripted !== null) return job.scripted.deltas[index] ?? "{}";
  const token = JSON.stringify(tokenAt({ text: job.text, start: job.start, choice }, index));
  if (index < job.reasoning) return `{"reasoning_content":${token}}`;
  if (job.finish !== "tool_calls") return `{"content":${token}}`;
  // The token stands inside a string of the arguments' own JSON.
  const piece = JSON.stringify(token.slice(1, -1));
  return `{"tool_calls":[{"index":0,"function":{"arguments":${piece}}}]}`;
}

function toolStartDelta(job: ChatJob, choice: number): string {
  const opening = JSON.stringify('{"text":"');
  return `{"role":"assistant","content":null,"tool_calls":[{"index":0,${toolCallStart(job, choice)}${opening}}}]}`;
}

function toolEndDelta(): string {
  return `{"tool_calls":[{"index":0,"function":{"arguments":${JSON.stringify('"}')}}}]}`;
}

function bigEvent(job: ChatJob): string {
  const filler = "x".repeat(job.x.sim.settings.bigEventBytes);
  return `${head(job)}{"index":0,"delta":{},"finish_reason":null,"logprobs":null}],"filler":"${filler}"}`;
}

function createEventWriter(job: ChatJob): EventWriter {
  const { x, shape } = job;
  const frame = createFramer(shape);
  const pause = shape.pieces === "byte" ? x.sim.settings.slowDripMs : 2;
  let held = "";
  const put = (text: string): boolean | Promise<boolean> => {
    if (shape.gzip || shape.pieces === "whole") {
      held += text;
      return !x.gone;
    }
    if (shape.pieces === "event") return write(x, text);
    return inPieces(split(text, shape.pieces));
  };
  const inPieces = async (pieces: Uint8Array[]): Promise<boolean> => {
    for (const piece of pieces) {
      if (!(await write(x, piece)) || !(await sleep(x, pause))) return false;
    }
    return true;
  };
  return {
    event: (data) => put(frame(data)),
    raw: put,
    async end() {
      if (held !== "") await write(x, shape.gzip ? gzipSync(held) : held);
      x.response.end();
    },
  };
}
