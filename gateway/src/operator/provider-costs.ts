import type { NanoUsd } from "@inference/protocol/money";
import type { Environment } from "../environment.ts";

/**
 * Two sums for each model since the start of the process: the cost of answers by the provider's word, and the cost of
 * the same answers at the prices in force. If the provider charges more than it lists, the operator pays the
 * difference.
 */
export type ProviderCosts = {
  note(model: string, reportedNanoUsd: NanoUsd, listedNanoUsd: NanoUsd): void;
  readonly byModel: ReadonlyMap<string, Readonly<Costs>>;
};

type Sums = { reportedNanoUsd: NanoUsd; listedNanoUsd: NanoUsd };
/** `told`: the sums when the operator was last told, or when the provider was last cheaper. */
type Costs = Sums & { told: Sums };

const sumsOf = ({ reportedNanoUsd, listedNanoUsd }: Sums): Sums => ({ reportedNanoUsd, listedNanoUsd });

/** The operator is told of a cent that is more than one per cent above the list price, and then of the next. */
const LEAST_DRIFT_NANO_USD = 10_000_000;
const LEAST_DRIFT_SHARE = 0.01;

export function makeProviderCosts({ log }: Pick<Environment, "log">): ProviderCosts {
  const byModel = new Map<string, Costs>();
  return {
    byModel,
    note(model, reportedNanoUsd, listedNanoUsd) {
      const none = { reportedNanoUsd: 0, listedNanoUsd: 0 };
      const costs = byModel.get(model) ?? { ...none, told: none };
      byModel.set(model, costs);
      costs.reportedNanoUsd += reportedNanoUsd;
      costs.listedNanoUsd += listedNanoUsd;
      const sinceNanoUsd = costs.listedNanoUsd - costs.told.listedNanoUsd;
      const driftNanoUsd = costs.reportedNanoUsd - costs.told.reportedNanoUsd - sinceNanoUsd;
      // Earlier discounts do not hide a later surcharge.
      if (driftNanoUsd < 0) costs.told = sumsOf(costs);
      if (!isDrift(driftNanoUsd, sinceNanoUsd)) return;
      costs.told = sumsOf(costs);
      log("alert", "provider_cost", { model, driftNanoUsd, listedNanoUsd: sinceNanoUsd });
    },
  };
}

/** Whether the operator is told of costs this far above the list price. */
export function isDrift(driftNanoUsd: NanoUsd, listedNanoUsd: NanoUsd): boolean {
  return driftNanoUsd >= LEAST_DRIFT_NANO_USD && driftNanoUsd > listedNanoUsd * LEAST_DRIFT_SHARE;
}
