import type { Model } from "./catalogue.ts";
import { deliverJob } from "./deliver.ts";
import { schemaError, WireError } from "./errors.ts";
import { type Exchange, providerHeaders } from "./exchange.ts";
import { type ImageFormat, imageBytes } from "./image-bytes.ts";
import { modelOf, planJob, run } from "./job.ts";
import { type ChargeLine, chargeLine, type PriceSpec, rate } from "./pricing.ts";
import * as is from "./validate.ts";
import { HEADER_PREFIX } from "./wire.ts";

const isImage: is.Check = (value) =>
  (Buffer.isBuffer(value) || typeof value === "string") && value.length > 0 ? null : "Expected an image";

const EDIT: is.Schema = new Map<string, is.Check>([
  ["model", is.textOf(1, 200)],
  ["prompt", is.textOf(1, 32_768)],
  ["image", isImage],
  ["aspect_ratio", is.string],
  ["resolution", is.textOf(1, 10)],
  ["quality", is.oneOf("low", "medium", "high")],
  ["output_format", is.oneOf("jpeg", "png", "webp")],
  ["safe_mode", (value) => (value === "true" || value === "false" ? null : is.flag(value))],
]);
const UPSCALE: is.Schema = new Map<string, is.Check>([
  ["image", isImage],
  ["scale", (value) => is.number(2, 4)(Number(value))],
  ["creativity", (value) => is.number(0, 1)(Number(value))],
]);

/** `POST /image/edit`. The markers are read from the prompt. */
export async function imageEdit(x: Exchange, body: is.Body): Promise<void> {
  is.checkBody(body, EDIT, ["model", "prompt", "image"]);
  const model = modelOf(x, body, "inpaint");
  const resolution = is.stringField(body, "resolution") ?? "1K";
  const format = (is.stringField(body, "output_format") ?? "png") as ImageFormat;
  const lines = editLines(model, resolution, is.stringField(body, "quality"));
  await makeImage(x, model, { lines, format, markers: is.stringField(body, "prompt") ?? "" });
}

/** `POST /image/upscale`. The request names no model. The markers are read from a file. */
export async function imageUpscale(x: Exchange, body: is.Body): Promise<void> {
  is.checkBody(body, UPSCALE, ["image"]);
  const model = modelOf(x, { model: "sim-upscaler" }, "upscale");
  const price = tableOf(model.pricing, "upscale")?.[`${Number(body.scale ?? 2)}x`];
  if (typeof price !== "string") throw new WireError(schemaError("scale", "Scale must be 2 or 4"));
  const markers = Buffer.isBuffer(body.image) ? body.image.toString("latin1") : "";
  await makeImage(x, model, { lines: [chargeLine(`${model.id}-upscale`, 1, 1, rate(price))], format: "png", markers });
}

async function makeImage(
  x: Exchange,
  model: Model,
  { lines, format, markers }: { lines: ChargeLine[]; format: ImageFormat; markers: string },
): Promise<void> {
  const job = planJob(x, model, markers, { units: 1, lines: (units) => (units === 0 ? [] : lines) });
  await run(job, async () => {
    const isBlocked = job.fault === "image-violation";
    const headers = providerHeaders(x, `image/${format}`, model);
    if (isBlocked) headers.push(`${HEADER_PREFIX}is-content-violation`, "true");
    const atLeast = job.fault === "image-large" ? x.sim.settings.largeImageBytes : 0;
    await deliverJob(job, headers, imageBytes(format, x.sim.seed, atLeast), isBlocked ? 0 : 1);
  });
}

/** The edit itself, and the input image where none is included. */
function editLines({ id, pricing, seed }: Model, resolution: string, quality: string | null): ChargeLine[] {
  const { defaultQuality } = (seed.spec?.constraints ?? {}) as { defaultQuality?: string };
  const byQuality = tableOf(tableOf(pricing, "quality"), resolution)?.[quality ?? defaultQuality ?? ""];
  const price = byQuality ?? tableOf(pricing, "resolutions")?.[resolution] ?? pricing.inpaint;
  const images = tableOf(pricing, "inputImages");
  const extra = Math.max(0, 1 - Number(images?.included ?? 1));
  return [
    chargeLine(`${id}-edit`, 1, 1, rate(String(price))),
    ...(extra === 0 ? [] : [chargeLine(`${id}-input-image`, extra, 1, rate(String(images?.additional)))]),
  ];
}

function tableOf(spec: PriceSpec | undefined, key: string): PriceSpec | undefined {
  const value = spec?.[key];
  return typeof value === "object" ? value : undefined;
}
