import type { DurableObjectNamespace, KVNamespace } from "@cloudflare/workers-types";
import type { ChainObject } from "./chain-object.ts";
import type { PartitionObject } from "./partition-object.ts";

/** What the Worker is bound to: its objects, its key-value namespace, and its settings and secrets as text. */
export type Bindings = {
  PARTITION: DurableObjectNamespace<PartitionObject & Rpc>;
  CHAIN: DurableObjectNamespace<ChainObject & Rpc>;
  KEY_VALUE: KVNamespace;
} & { readonly [setting: string]: unknown };

/** The brand that the runtime gives to objects that can be called from afar. */
type Rpc = { __DURABLE_OBJECT_BRAND: never };
