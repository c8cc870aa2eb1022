/** A line of JSON on the load generator's standard input: keys do not belong on a command line. */
export interface LoadPlan {
  /** Loopback only. */
  readonly url: string;
  /** The headers of each connection in turn: a gateway that limits requests in flight by account needs several keys. */
  readonly headers: readonly Readonly<Record<string, string>>[];
  readonly body: string;
  readonly connections: number;
  /** Under load but not counted. */
  readonly warmupSeconds: number;
  readonly seconds: number;
  /** The `data:` lines of a whole stream; null if the answer is buffered. */
  readonly events: number | null;
}

/** The generator's line of JSON for a plan. It counts whole answers that ended within the measured seconds. */
export interface LoadResult {
  readonly answers: number;
  readonly requestsPerSecond: number;
  readonly eventsPerSecond: number;
  /** From the request's first byte to the answer's last. Null without answers. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** From the request's first byte to the body's first. */
  readonly firstByteP50Ms: number | null;
  readonly firstByteP99Ms: number | null;
  /** Over the whole run, with warm-up and last answers. Processor time is divided by these. */
  readonly allAnswers: number;
  readonly allEvents: number;
  readonly elapsedSeconds: number;
  /** Over the whole run. */
  readonly errors: number;
  readonly errorKinds: Readonly<Record<string, number>>;
  /** Answers still open when the generator gave up waiting. */
  readonly unfinished: number;
}

/** The `data:` lines of a stream from the fixed upstream: its content events, the usage chunk, `[DONE]`. */
export const streamContentEvents = 200;
export const streamEvents = streamContentEvents + 2;

/** The model with streams as fast as the socket takes them, and the model with paced streams. */
export const floodModel = "bench-model";
export const pacedModel = "bench-model-paced";
/** The model with paced streams of 500 tokens. */
export const longModel = "bench-model-long";
export const longContentEvents = 500;
/** Between two events of a paced stream: fifty tokens a second. */
export const paceMs = 20;

const short = "Say something short about tides, then stop.";

/** A question after a text: 20 kB. */
const long = `${"The tide comes in twice a day, and twice a day it leaves. ".repeat(348)}${short}`;

export type Answer = "buffered" | "flood" | "paced" | "long";

/** How a whole stream ends. */
export const STREAM_ENDING = "data: [DONE]\n\n";

export function requestBody(answer: Answer, isLong = false): string {
  const model = answer === "paced" ? pacedModel : answer === "long" ? longModel : floodModel;
  const body = { model, messages: [{ role: "user", content: isLong ? long : short }], max_tokens: 256 };
  return JSON.stringify(
    answer === "buffered" ? body : { ...body, stream: true, stream_options: { include_usage: true } },
  );
}
