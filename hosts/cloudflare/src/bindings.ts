import type {
  AnalyticsEngineDataset,
  DurableObjectJurisdiction,
  DurableObjectLocationHint,
  DurableObjectNamespace,
  KVNamespace,
} from "@cloudflare/workers-types";
import type { SettlerAccount } from "@inference/settler/settlement-contract";
import type { Bucket } from "./export.ts";

/**
 * The Worker's bindings: its objects, its key-value namespace, and its settings and secrets as text. `PartitionCalls`
 * and `ChainCalls` declare the calls of the objects.
 */
export type Bindings = {
  PARTITION: DurableObjectNamespace;
  CHAIN: DurableObjectNamespace;
  KEY_VALUE: KVNamespace;
  /** A copy of all objects goes there. Without it there is none. */
  EXPORT?: Bucket;
  /** Where requests and alerts are counted, if anywhere. */
  COUNTERS?: AnalyticsEngineDataset;
  /** `beside/settler-key.ts`, if the settler's key is there. */
  SETTLER_KEY?: { sign: SettlerAccount["signTransaction"] };
  LOCATION_HINT?: DurableObjectLocationHint | "";
  JURISDICTION?: DurableObjectJurisdiction | "us" | "";
} & { readonly [setting: string]: unknown };

type Place = Pick<Bindings, "LOCATION_HINT" | "JURISDICTION">;

/** The objects of a jurisdiction have other ids than those of the same names elsewhere. */
export function placedIn(namespace: DurableObjectNamespace, { JURISDICTION }: Place): DurableObjectNamespace {
  return JURISDICTION ? namespace.jurisdiction(JURISDICTION as DurableObjectJurisdiction) : namespace;
}

/** A new stub of an object, which is placed where the operator wants it when it is first called. */
export function objectOf<Calls>(namespace: DurableObjectNamespace, name: string, place: Place): Calls {
  const options = place.LOCATION_HINT ? { locationHint: place.LOCATION_HINT } : {};
  return placedIn(namespace, place).getByName(name, options) as unknown as Calls;
}
