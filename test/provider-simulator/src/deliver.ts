import { gzipSync } from "node:zlib";
import { cut, type Exchange, sendText, sleep, write } from "./exchange.ts";
import { streamShape } from "./faults.ts";
import { bill, type Job, MAX_HANG_MS } from "./job.ts";
import type { StreamShape } from "./stream-shape.ts";

const CUT_ENDINGS: ReadonlySet<StreamShape["ending"]> = new Set(["rst", "fin", "stall", "open"]);

/** Bills a job's whole answer, or `units` of it, and sends it in the shape of its fault. */
export async function deliverJob(
  job: Job,
  headers: string[],
  body: string | Uint8Array,
  units = job.units,
): Promise<void> {
  bill(job, units);
  job.x.record.unitsSent = units;
  await deliver(job.x, headers, body, streamShape(job.fault));
}

/** Sends a whole body in the shape: complete, compressed, half and then cut or silent, or byte by byte. */
export async function deliver(
  x: Exchange,
  headers: string[],
  body: string | Uint8Array,
  shape: StreamShape,
): Promise<void> {
  if (shape.gzip) return sendText(x, 200, [...headers, "content-encoding", "gzip"], gzipSync(body));
  if (CUT_ENDINGS.has(shape.ending)) return deliverHalf(x, headers, Buffer.from(body), shape);
  if (shape.pieces === "byte") return deliverBytes(x, headers, Buffer.from(body));
  sendText(x, 200, headers, body);
}

/** White space without end: valid as the start of any JSON. Returns when the client has left. */
export async function deliverEndless(x: Exchange, headers: string[]): Promise<void> {
  start(x, headers, null);
  const spaces = " ".repeat(16 * 1024);
  while (await sleep(x, 1)) await write(x, spaces);
}

async function deliverHalf(x: Exchange, headers: string[], body: Uint8Array, shape: StreamShape): Promise<void> {
  start(x, headers, body.length);
  await write(x, body.subarray(0, body.length >> 1));
  if (shape.ending === "stall" && !(await sleep(x, MAX_HANG_MS))) return;
  // A reset would throw away bytes that have not left yet.
  if (await sleep(x, 20)) cut(x, shape.ending === "rst" ? "rst" : "fin");
}

async function deliverBytes(x: Exchange, headers: string[], body: Uint8Array): Promise<void> {
  start(x, headers, body.length);
  for (const byte of body) {
    if (!(await sleep(x, x.sim.settings.slowDripMs)) || !(await write(x, Buffer.of(byte)))) return;
  }
  x.response.end();
}

function start(x: Exchange, headers: string[], length: number | null): void {
  x.record.status = 200;
  x.response.writeHead(200, length === null ? headers : [...headers, "content-length", String(length)]);
}
