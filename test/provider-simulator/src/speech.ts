import type { Model } from "./catalogue.ts";
import { deliverJob } from "./deliver.ts";
import { plainError, schemaError, WireError } from "./errors.ts";
import { cut, type Exchange, providerHeaders, sendAnswer, sendText, sleep, write } from "./exchange.ts";
import { bill, billStopped, type Job, modelOf, planJob, run } from "./job.ts";
import { markerNumber } from "./markers.ts";
import { inputLines } from "./pricing.ts";
import { startPosition } from "./tokens.ts";
import * as is from "./validate.ts";

const BYTES_PER_CHARACTER = 64;
const PIECE_BYTES = 1024;
const TYPES: Readonly<Record<string, string>> = {
  mp3: "audio/mpeg",
  opus: "audio/opus",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/pcm",
};
const SCHEMA: is.Schema = new Map<string, is.Check>([
  ["model", is.textOf(1, 200)],
  ["input", is.textOf(1, 4096)],
  ["voice", is.string],
  ["response_format", is.oneOf("mp3", "opus", "aac", "flac", "wav", "pcm")],
  ["speed", is.number(0.25, 4)],
  ["streaming", is.flag],
  ["language", is.string],
  ["prompt", is.textOf(0, 500)],
  ["temperature", is.number(0, 2)],
  ["top_p", is.number(0, 1)],
]);

interface SpeechJob extends Job {
  readonly audio: Buffer;
}

/** `POST /audio/speech`. Its units are the input's characters. A part of the audio is billed by its bytes. */
export async function audioSpeech(x: Exchange, body: is.Body): Promise<void> {
  is.checkBody(body, SCHEMA, ["model", "input"]);
  const model = modelOf(x, body, "tts");
  choose(model, body, "voice", "voices", "default_voice");
  const format = choose(model, body, "response_format", "supported_formats", "default_format");
  const input = is.stringField(body, "input") ?? "";
  const lines = (units: number) => inputLines(`${model.id}-tts-input-mchar`, model.pricing, units);
  const audio = makeAudio(startPosition(x.sim.seed, input), input.length);
  const job: SpeechJob = { ...planJob(x, model, input, { units: input.length, lines }), audio };
  await run(job, () => speak(job, TYPES[format] ?? "application/octet-stream", body.streaming === true));
}

async function speak(job: SpeechJob, type: string, streaming: boolean): Promise<void> {
  const { x, fault, audio } = job;
  if (fault === "speech-error") {
    bill(job, 0);
    return sendAnswer(x, plainError(500, "Stream error"));
  }
  const headers = providerHeaders(x, type, job.model);
  if (fault === "speech-empty") {
    bill(job, 0);
    return sendText(x, 200, headers, "");
  }
  if (streaming || fault === "speech-cut") return speakInPieces(job, headers, streaming);
  await deliverJob(job, headers, audio);
}

async function speakInPieces(job: SpeechJob, headers: string[], streaming: boolean): Promise<void> {
  const { x, audio } = job;
  const cutting = job.fault === "speech-cut";
  const end = cutting ? audio.length >> 1 : audio.length;
  const gap = markerNumber(job.markers, "drip") ?? x.sim.settings.dripMs;
  if (!streaming) headers.push("content-length", String(audio.length));
  x.record.status = 200;
  x.response.writeHead(200, headers);
  for (let from = 0; from < end; from += PIECE_BYTES) {
    const to = Math.min(end, from + PIECE_BYTES);
    if (!(await sleep(x, gap)) || !(await write(x, audio.subarray(from, to)))) break;
    x.record.unitsSent = Math.ceil((job.units * to) / audio.length);
  }
  billStopped(job, x.record.unitsSent);
  if (!cutting) x.response.end();
  else if (await sleep(x, 20)) cut(x, "fin");
}

function choose(model: Model, body: is.Body, field: string, allowed: string, fallback: string): string {
  const wanted = is.stringField(body, field);
  const spec = model.seed.spec ?? {};
  const options: unknown = spec[allowed];
  if (wanted === null) return is.stringField(spec, fallback) ?? "";
  if (Array.isArray(options) && options.includes(wanted)) return wanted;
  throw new WireError(schemaError(field, `${field} '${wanted}' is not supported by ${model.id}`));
}

/** Noise that depends on the text only. */
function makeAudio(start: number, characters: number): Buffer {
  const audio = Buffer.alloc(64 + characters * BYTES_PER_CHARACTER);
  let state = start + 1;
  for (let i = 0; i < audio.length; i++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    audio[i] = state >>> 24;
  }
  return audio;
}
