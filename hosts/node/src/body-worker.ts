import { parentPort, workerData } from "node:worker_threads";
import { pricesUnknown } from "@inference/gateway/catalogue/price-list";
import type { GatewayConfig } from "@inference/gateway/config";
import { makeReasoningSeal } from "@inference/gateway/inference/answer/reasoning-seal";
import { type ReadBody, readBody, readForm, type SentBodyJob } from "@inference/gateway/inference/requests/body-job";
import { asObject } from "@inference/gateway/json-object";
import { endpoints } from "@inference/gateway/routes/all";
import { randomBytes } from "./random.ts";

/** Reads bodies in a thread of its own. An error that is no refusal ends the thread. */
export type BodyThreadData = Pick<GatewayConfig, "secret" | "previousSecret">;
/** @param snapshot Absent if it is that of the last message. */
export type BodyMessage = Omit<SentBodyJob, "snapshot"> & Partial<Pick<SentBodyJob, "snapshot">>;

const reasoningSeal = makeReasoningSeal(workerData as BodyThreadData, { bytes: randomBytes });
const parsers = new Map(endpoints.flatMap(({ parser }) => (parser === undefined ? [] : [[parser.name, parser]])));
let prices: SentBodyJob["snapshot"] = null;

parentPort?.on("message", async ({ parser: name, context, snapshot, ...job }: BodyMessage) => {
  if (snapshot !== undefined) prices = snapshot;
  const parser = parsers.get(name);
  if (parser === undefined) throw new Error(`no endpoint has the parser ${name}`);
  const contextOf = () => ({ ...context, reasoningSeal, snapshot: prices ?? pricesUnknown() });
  const { formType } = job;
  const read =
    formType === undefined ? readBody(parser, job, contextOf) : await readForm(parser, { ...job, formType }, contextOf);
  parentPort?.postMessage(read, buffersOf(read));
});

/** The bytes to send to the provider are not copied. */
function buffersOf(read: ReadBody<unknown>): ArrayBuffer[] {
  const body = asObject("parsed" in read ? read.parsed : null)?.upstreamBody;
  return body instanceof Uint8Array ? [body.buffer as ArrayBuffer] : [];
}
