import type { DurableObjectNamespace, KVNamespace } from "@cloudflare/workers-types";

/**
 * What the Worker is bound to: its objects, its key-value namespace, and its settings and secrets as text. The calls
 * that an object takes are declared where they are made: `PartitionCalls`, `ChainCalls`.
 */
export type Bindings = {
  PARTITION: DurableObjectNamespace;
  CHAIN: DurableObjectNamespace;
  KEY_VALUE: KVNamespace;
} & { readonly [setting: string]: unknown };
