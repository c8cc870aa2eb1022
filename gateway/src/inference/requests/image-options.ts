import { fail } from "@inference/protocol/errors";
import type { ImageTable, Model } from "@inference/protocol/model";
import type { ImageSize } from "@inference/protocol/wire/images";
import type { ModelOf } from "./find-model.ts";
import type { ParsedOrder } from "./order.ts";

type ImageModel = Model & { price: ImageTable };

/**
 * The order for images, which cost a flat price each.
 *
 * @param sent The path and the body to send.
 */
export function imageOrder(
  sent: Pick<ParsedOrder, "upstreamPath" | "upstreamBody" | "upstreamType">,
  {
    model,
    ignored,
    snapshotId,
  }: { model: ModelOf<"image" | "edit" | "upscale">; ignored: string[]; snapshotId: string },
  { resolution, quality, count = 1 }: { resolution: string | undefined; quality?: string | undefined; count?: number },
): ParsedOrder {
  const terms = { snapshotId, price: model.price, resolution, quality, count };
  return { ...sent, model, stream: false, ignored, terms: { kind: "image", ...terms } };
}

/** The resolutions a model lists; none if it has one price for all. */
export function resolutionsOf({ price }: ImageModel): string[] {
  const listed = new Set([...Object.keys(price.byResolution), ...Object.keys(price.byQuality ?? {})]);
  listed.delete("*");
  return [...listed];
}

/** The resolution if the request names none: `*` if all have one price, undefined if it is unknown. */
export function defaultResolution(model: ImageModel): string | undefined {
  const listed = resolutionsOf(model);
  if (listed.length === 0) return "*";
  if (listed.length === 1) return listed[0];
  const { defaultResolution: preset } = model.features;
  return preset !== undefined && listed.includes(preset) ? preset : undefined;
}

/** The listed resolution whose area is nearest to a size. `1K` is an area of 1024 x 1024 pixels. */
export function resolutionOfSize(size: ImageSize, model: ImageModel): string | undefined {
  const [width, height] = size.split("x").map(Number);
  if (width === undefined || height === undefined) return defaultResolution(model);
  const distance = (side: number): number => Math.abs(Math.log((side * side) / (width * height)));
  let nearest: { resolution: string; side: number } | undefined;
  for (const resolution of resolutionsOf(model)) {
    const side = sideOf(resolution);
    if (side === undefined) continue;
    if (nearest === undefined || distance(side) < distance(nearest.side)) nearest = { resolution, side };
  }
  return nearest?.resolution ?? defaultResolution(model);
}

/** `1K`, `0.5K`, `2048`. */
function sideOf(resolution: string): number | undefined {
  const match = /^(\d{1,5}(?:\.\d{1,3})?)(k?)$/i.exec(resolution);
  if (match === null) return undefined;
  const side = Number(match[1]) * (match[2] === "" ? 1 : 1024);
  return side > 0 ? side : undefined;
}

/** The qualities a model lists, or has prices for. */
export function qualitiesOf({ price, features }: ImageModel): string[] {
  const priced = Object.values(price.byQuality ?? {}).flatMap((table) => Object.keys(table));
  return [...new Set([...(features.qualities ?? []), ...priced])];
}

export function checkPrompt(prompt: string, model: ImageModel): void {
  const { promptCharacterLimit: limit } = model.features;
  if (limit === undefined || prompt.length <= limit) return;
  const message = `\`prompt\` has ${prompt.length} characters, \`${model.id}\` takes at most ${limit}. Shorten it.`;
  fail("invalid_request", message, { param: "prompt" });
}
