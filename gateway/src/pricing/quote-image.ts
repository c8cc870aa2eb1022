import { fail } from "@inference/protocol/errors";
import type { AttoUsd, ImagePrice } from "@inference/protocol/model";
import { ownValue } from "@inference/protocol/own-value";
import { chargeToNanoUsdUp, imageAtto } from "./charge.ts";
import { dearest } from "./dearest.ts";
import type { Quote } from "./quote.ts";
import { quoteFlat } from "./quote-flat.ts";

export type ImageTerms = {
  snapshotId: string;
  price: ImagePrice;
  /** `*` for a model without resolutions; undefined where the provider chooses and the dearest counts. */
  resolution: string | undefined;
  /** Undefined where the model has no qualities, or the provider chooses and the dearest counts. */
  quality: string | undefined;
  /** Images made, each billed as one. */
  count: number;
};

/** Images cost their number: what is owed are those that came whole, each an event. */
export function quoteImage(request: ImageTerms): Quote {
  const { price, resolution, quality, count } = request;
  const candidates = resolution === undefined ? Object.keys(price.byResolution) : [resolution];
  const prices = candidates.flatMap((candidate) => imagePrices(price, candidate, quality));
  if (prices.length === 0) fail("unpriced_option", "This resolution and quality have no price for this model.");
  const each = dearest(prices);
  return quoteFlat(request.snapshotId, each * BigInt(count), ({ events, isBlocked = false }) =>
    chargeToNanoUsdUp(each * BigInt(Math.min(events, isBlocked ? count - 1 : count))),
  );
}

function imagePrices(price: ImagePrice, resolution: string, quality: string | undefined): AttoUsd[] {
  const chosen = imageAtto(price, resolution, quality);
  const others = quality === undefined ? Object.values(ownValue(price.byQuality, resolution) ?? {}) : [];
  return chosen === undefined ? others : [chosen, ...others];
}
