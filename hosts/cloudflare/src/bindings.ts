import type { DurableObjectNamespace, KVNamespace } from "@cloudflare/workers-types";

/**
 * The Worker's bindings: its objects, its key-value namespace, and its settings and secrets as text. `PartitionCalls`
 * and `ChainCalls` declare the calls of the objects.
 */
export type Bindings = {
  PARTITION: DurableObjectNamespace;
  CHAIN: DurableObjectNamespace;
  KEY_VALUE: KVNamespace;
} & { readonly [setting: string]: unknown };
