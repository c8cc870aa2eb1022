import type { Model } from "./catalogue.ts";
import { deliverJob } from "./deliver.ts";
import { schemaError, WireError } from "./errors.ts";
import { type Exchange, providerHeaders } from "./exchange.ts";
import { type ImageFormat, imageBytes } from "./image-bytes.ts";
import { type Job, modelOf, planJob, run } from "./job.ts";
import { chargeLine, imageRate } from "./pricing.ts";
import * as is from "./validate.ts";
import { HEADER_PREFIX } from "./wire.ts";

const GENERATE: is.Schema = new Map<string, is.Check>([
  ["model", is.textOf(1, 200)],
  ["prompt", is.textOf(1, 100_000)],
  ["negative_prompt", is.textOf(0, 7500)],
  ["width", is.integer(1, 1280)],
  ["height", is.integer(1, 1280)],
  ["aspect_ratio", is.string],
  ["resolution", is.string],
  ["quality", is.oneOf("low", "medium", "high")],
  ["cfg_scale", is.number(0, 20)],
  ["steps", is.integer(1, 50)],
  ["seed", is.integer(-999_999_999, 999_999_999)],
  ["variants", is.integer(1, 4)],
  ["style_preset", is.string],
  ["style_references", is.list],
  ["lora_strength", is.integer(0, 100)],
  ["enhance_prompt", is.flag],
  ["enable_web_search", is.flag],
  ["format", is.oneOf("jpeg", "png", "webp")],
  ["return_binary", is.flag],
  ["embed_exif_metadata", is.flag],
  ["hide_watermark", is.flag],
  ["safe_mode", is.flag],
  ["anon_user_id", is.textOf(1, 128)],
  ["inpaint", () => "The inpaint parameter is no longer supported"],
]);

const SIZES = ["auto", "256x256", "512x512", "1024x1024", "1536x1024", "1024x1536", "1792x1024", "1024x1792"];
const GENERATIONS: is.Schema = new Map<string, is.Check>([
  ["model", is.textOf(1, 200)],
  ["prompt", is.textOf(1, 1500)],
  ["n", is.integer(1, 1)],
  ["size", is.oneOf(...SIZES)],
  ["output_format", is.oneOf("jpeg", "png", "webp")],
  ["response_format", is.oneOf("b64_json", "url")],
  ["moderation", is.oneOf("auto", "low")],
  ["quality", is.string],
  ["style", is.string],
  ["background", is.string],
  ["output_compression", is.integer(0, 100)],
  ["user", is.string],
]);

/** `POST /image/generate`. */
export async function imageGenerate(x: Exchange, body: is.Body): Promise<void> {
  is.checkBody(body, GENERATE, ["model", "prompt"]);
  const model = modelOf(x, body, "image");
  const binary = body.return_binary === true;
  const variants = is.numberField(body, "variants") ?? 1;
  if (binary && variants > 1) throw new WireError(schemaError("variants", "Only one variant with return_binary"));
  const prompt = is.stringField(body, "prompt") ?? "";
  const limit = constraints(model).promptCharacterLimit;
  if (typeof limit === "number" && prompt.length > limit) {
    throw new WireError(schemaError("prompt", `String must contain at most ${limit} character(s)`));
  }
  const work = planImages(x, model, {
    prompt,
    count: variants,
    seed: is.numberField(body, "seed") ?? 0,
    resolution: is.stringField(body, "resolution"),
    quality: is.stringField(body, "quality"),
    format: formatOf(is.stringField(body, "format") ?? "webp"),
  });
  await runImages(work, (images) => {
    if (binary) return { type: `image/${work.wanted.format}`, body: images[0] ?? Buffer.alloc(0) };
    const timing = { inferenceDuration: 1840, inferencePreprocessingTime: 22, inferenceQueueTime: 31, total: 1893 };
    const encoded = images.map((image) => image.toString("base64"));
    return { type: "application/json", body: JSON.stringify({ id: work.requestId, images: encoded, timing }) };
  });
}

/** `POST /images/generations`, in OpenAI's shape. */
export async function imagesGenerations(x: Exchange, body: is.Body): Promise<void> {
  is.checkBody(body, GENERATIONS, ["model", "prompt"]);
  const work = planImages(x, modelOf(x, body, "image"), {
    prompt: is.stringField(body, "prompt") ?? "",
    count: 1,
    seed: 0,
    resolution: null,
    quality: null,
    format: formatOf(is.stringField(body, "output_format") ?? "png"),
  });
  await runImages(work, (images) => {
    const encoded = images[0]?.toString("base64") ?? "";
    const asUrl = body.response_format === "url";
    const image = asUrl ? { url: `data:image/${work.wanted.format};base64,${encoded}` } : { b64_json: encoded };
    const created = Math.floor(x.sim.now() / 1000);
    return { type: "application/json", body: JSON.stringify({ created, data: [image] }) };
  });
}

interface Wanted {
  readonly prompt: string;
  readonly count: number;
  readonly seed: number;
  readonly resolution: string | null;
  readonly quality: string | null;
  readonly format: ImageFormat;
}

interface ImageJob extends Job {
  readonly wanted: Wanted;
}

function planImages(x: Exchange, model: Model, wanted: Wanted): ImageJob {
  const rules = constraints(model);
  const resolution = pick("resolution", wanted.resolution, rules.resolutions, rules.defaultResolution);
  const quality = pick("quality", wanted.quality, rules.qualities, rules.defaultQuality);
  const price = imageRate(model.pricing, resolution, quality);
  if (price === null) throw new Error(`no price for ${model.id} at ${resolution} ${quality}`);
  const lines = (units: number) => (units === 0 ? [] : [chargeLine(`${model.id}-image-unit`, units, 1, price)]);
  const requestId = `generate-image-${x.sim.seedText}${x.sequence}`;
  return { ...planJob(x, model, wanted.prompt, { units: wanted.count, lines }), requestId, wanted };
}

async function runImages(
  job: ImageJob,
  answer: (images: Buffer[]) => { type: string; body: string | Uint8Array },
): Promise<void> {
  const { x, fault } = job;
  await run(job, async () => {
    const isBlocked = fault === "image-violation";
    const { type, body } = answer(makeImages(job, isBlocked));
    const headers = providerHeaders(x, type, job.model);
    if (isBlocked) headers.push(`${HEADER_PREFIX}is-content-violation`, "true");
    if (fault === "image-blurred") headers.push(`${HEADER_PREFIX}is-blurred`, "true");
    await deliverJob(job, headers, body, isBlocked ? 0 : job.units);
  });
}

function makeImages(job: ImageJob, black: boolean): Buffer[] {
  const { wanted, x } = job;
  const atLeast = job.fault === "image-large" ? x.sim.settings.largeImageBytes : 0;
  let colour = 0;
  for (let i = 0; i < wanted.prompt.length; i++) colour = (Math.imul(colour, 31) + wanted.prompt.charCodeAt(i)) >>> 0;
  return Array.from({ length: wanted.count }, (_, variant) =>
    imageBytes(wanted.format, black ? 0 : colour ^ wanted.seed ^ x.sim.seed ^ (variant << 20), atLeast),
  );
}

function constraints(model: Model): is.Body {
  const given = model.seed.spec?.constraints;
  return is.isObject(given) ? given : {};
}

/** A model without a list drops the option without a word; one with a list refuses what is not on it. */
function pick(field: string, wanted: string | null, allowed: unknown, fallback: unknown): string | null {
  if (!Array.isArray(allowed)) return null;
  if (wanted === null) return typeof fallback === "string" ? fallback : null;
  if (!allowed.includes(wanted)) throw new WireError(schemaError(field, `Invalid ${field} for this model`));
  return wanted;
}

function formatOf(name: string): ImageFormat {
  return name === "png" || name === "jpeg" ? name : "webp";
}
