import { deliverJob } from "./deliver.ts";
import { type Exchange, providerHeaders } from "./exchange.ts";
import { textIn } from "./form.ts";
import { modelOf, planJob, run } from "./job.ts";
import { markerNumber, readMarkers } from "./markers.ts";
import { chargeLine, rate } from "./pricing.ts";
import * as is from "./validate.ts";

const isFile: is.Check = (value) => (Buffer.isBuffer(value) && value.length > 0 ? null : "Expected a file");
const SCHEMA: is.Schema = new Map<string, is.Check>([
  ["file", isFile],
  ["model", is.textOf(1, 200)],
  ["response_format", is.oneOf("json", "text")],
  ["timestamps", is.oneOf("true", "false")],
  ["language", is.textOf(2, 12)],
]);
/** The assumed size of a second of audio whose header this program does not read. */
const BYTES_PER_SECOND = 4_000;

/** `POST /audio/transcriptions`. Its units are milliseconds. The markers are read from the file. */
export async function audioTranscriptions(x: Exchange, body: is.Body): Promise<void> {
  is.checkBody(body, SCHEMA, ["file", "model"]);
  const model = modelOf(x, body, "asr");
  const file = body.file as Buffer;
  const heard = textIn(file);
  const markers = readMarkers(heard);
  const stated = markerNumber(markers, "milliseconds");
  const units = stated ?? Math.ceil(secondsOf(file) * 1000);
  const price = model.pricing.per_audio_second;
  const lines = (ms: number) => (ms === 0 ? [] : [chargeLine(`${model.id}-asr-second`, ms, 1000, rate(String(price)))]);
  const job = planJob(x, model, heard, { units, lines });
  const text = markers.has("silence") ? "" : `A transcript of ${file.length} bytes.`;
  const timestamps = { segment: [{ text, start: 0, end: units / 1000 }] };
  const isText = body.response_format === "text";
  const answer = {
    text,
    ...(markers.has("no-duration") ? {} : { duration: units / 1000 }),
    ...(body.timestamps === "true" ? { timestamps } : {}),
  };
  await run(job, async () => {
    const type = isText ? "text/plain; charset=utf-8" : "application/json; charset=utf-8";
    await deliverJob(job, providerHeaders(x, type, model), isText ? text : JSON.stringify(answer));
  });
}

/** The samples of a WAV file by its header. */
function secondsOf(file: Buffer): number {
  if (file.toString("latin1", 0, 4) !== "RIFF") return file.length / BYTES_PER_SECOND;
  const data = file.indexOf("data", 12, "latin1");
  return file.readUInt32LE(data + 4) / file.readUInt32LE(28);
}
