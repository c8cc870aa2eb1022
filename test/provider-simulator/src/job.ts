import type { Bill } from "./billing.ts";
import type { Model } from "./catalogue.ts";
import type { ModelType } from "./catalogue-data.ts";
import { MODEL_NOT_FOUND, WireError } from "./errors.ts";
import { cut, type Exchange, sendAnswer, sleep, waitAt } from "./exchange.ts";
import { FAULTS } from "./faults.ts";
import { type Markers, markerNumber, readMarkers } from "./markers.ts";
import type { ChargeLine, Usage } from "./pricing.ts";
import { type Body, stringField } from "./validate.ts";

/** A hang or a stall that no client ends is ended by the simulator. */
export const MAX_HANG_MS = 20 * 60_000;
const MAX_ENDLESS_HEADERS = 100_000;

/** Accepted work. It is billed once, for the units that its end decides. */
export interface Job {
  readonly x: Exchange;
  readonly requestId: string;
  /** The model that does the work, at whose price it is billed. */
  readonly model: Model;
  readonly markers: Markers;
  readonly fault: string | null;
  /** Units of the whole answer: tokens, images, characters. */
  readonly units: number;
  lines(units: number): ChargeLine[];
  usage(units: number): Usage | null;
}

/** Work with the markers of a text, and without token counts. */
export function planJob(x: Exchange, model: Model, text: string, work: Pick<Job, "units" | "lines">): Job {
  const markers = readMarkers(text);
  return { x, model, markers, fault: chooseFault(x, markers, model), requestId: x.rayId, usage: () => null, ...work };
}

export function modelOf(x: Exchange, body: Body, type: ModelType): Model {
  const model = x.sim.catalogue.find(stringField(body, "model") ?? "");
  if (model?.seed.type !== type) throw new WireError(MODEL_NOT_FOUND);
  return model;
}

/** The request's fault: of its text, else of its model, else one placed on the model or the path. */
export function chooseFault(x: Exchange, markers: Markers, model: Model | null): string | null {
  const marked = markers.get("fault");
  const fault =
    marked !== undefined && Object.hasOwn(FAULTS, marked)
      ? marked
      : (model?.fault ?? placedFault(x, model?.id) ?? placedFault(x, x.path));
  x.record.fault = fault;
  return fault;
}

function placedFault(x: Exchange, place: string | undefined): string | null {
  const placed = place === undefined ? undefined : x.sim.placedFaults.get(place);
  if (placed === undefined || placed.times <= 0) return null;
  placed.times -= 1;
  return placed.fault;
}

/** Waits as the markers say, meets a fault that stands in place of the answer, or answers. */
export async function run(job: Job, answer: () => Promise<void>): Promise<void> {
  const { x, markers, model } = job;
  x.record.servedModel = model.id;
  x.record.requestId = job.requestId;
  const gate = markers.get("gate");
  const waited =
    gate === undefined
      ? await sleep(x, markerNumber(markers, "delay") ?? x.sim.settings.delayMs)
      : await waitAt(x, x.sim.gate(gate).promise);
  if (!waited) billAborted(job, 0);
  else if (await runEarlyFault(x, job.fault)) billStopped(job, 0);
  else await answer();
}

/** True if the fault has taken the place of the answer. */
export async function runEarlyFault(x: Exchange, fault: string | null): Promise<boolean> {
  const { stage, answer } = (fault === null ? undefined : FAULTS[fault]) ?? {};
  if (answer !== undefined && fault === "401-key-in-body") {
    sendAnswer(x, { ...answer, body: JSON.stringify(answer.body).replace("{key}", x.key?.secret ?? "") });
  } else if (answer !== undefined) sendAnswer(x, answer);
  else if (stage !== "socket") return false;
  else if (fault === "endless-headers") await endlessHeaders(x);
  else if (fault !== "hang-before-headers" || (await sleep(x, MAX_HANG_MS))) {
    cut(x, fault === "fin-before-headers" ? "fin" : "rst");
  }
  return true;
}

/** Writes to the socket itself, because the HTTP layer would end the headers. */
async function endlessHeaders(x: Exchange): Promise<void> {
  const { socket } = x.response;
  socket?.write("HTTP/1.1 200 OK\r\n");
  for (let i = 0; i < MAX_ENDLESS_HEADERS; i++) {
    if (!(await sleep(x, 2)) || socket === null || socket.destroyed) break;
    socket.write(`x-endless-${i}: ${"x".repeat(100)}\r\n`);
  }
  cut(x, "rst");
}

/** Bills `units` of the job. A job is billed once. */
export function bill(job: Job, units: number): Bill {
  const { x } = job;
  if (x.record.billedAtto !== null) throw new Error(`request ${x.sequence} was billed twice`);
  const usage = job.usage(units);
  const result = x.sim.ledger.charge({
    timeMs: x.sim.now(),
    requestId: job.requestId,
    keyId: x.key?.id ?? "",
    lines: job.lines(units),
    tokens: usage === null ? null : { prompt: usage.promptTokens, completion: usage.completionTokens },
  });
  if (x.key !== null && result.atto > 0n) x.sim.keys.spent(x.key, result);
  x.record.billedAtto = result.atto;
  x.record.usage = usage;
  return result;
}

/** Bills a job whose client left after `sent` units, by the setting. */
export function billAborted(job: Job, sent: number): Bill {
  const { abortBilling } = job.x.sim.settings;
  if (abortBilling === "full") return bill(job, Math.max(sent, job.units));
  return bill(job, abortBilling === "partial" ? sent : 0);
}

/** Bills a job that the client or the simulator stopped after `sent` units. */
export function billStopped(job: Job, sent: number): Bill {
  return job.x.gone ? billAborted(job, sent) : bill(job, sent);
}
